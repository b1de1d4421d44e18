"""``python -m habitprint``: the command line."""

from habitprint.cli import main

if __name__ == "__main__":
    main()
