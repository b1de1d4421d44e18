"""The solver of joint matching: pairs with the largest total gain, found while a price falls.

Rows are nodes of released users, columns nodes of known users, g is the gain of a pair; a node is *free* while it has
users without a partner. U and v are potentials of rows and columns, and a pair is *tight* when U + v = g. ::

    price ← the largest gain; v ← 0 for every column; no pair is given out
    plant a tree at every row, with U = price                            # the empty matching is optimal

    while a row is free, pairs are wanted and the price is above zero:
        let the price fall until a row i of a tree and a column j of no tree are tight
            # U of the rows in trees falls with the price, v of the columns in trees rises as much:
            # all pairs within a tree, and all pairs given out, keep their U + v
        if j is free:
            flip the path from j back to the root of i's tree            # one pair more, the best for that many
            dissolve that tree: its rows and columns keep their U and v
            let its rows that are paired with a column of another tree join that tree
            plant a tree at the root again if it is still free
        else:
            let j, and the rows paired with j, join the tree of i

    u ← max(0, g − v − price) over all pairs of each row                 # the proof, from all gains once more

So one run passes the optimum of every size, and the price at that moment is what the last pair added. Stopped early,
it leaves at most (pairs still wanted) · price to be gained: the approximate method.

It is fast because v never falls: an offer g − v that was noted once stays an upper bound. Most pairs are never looked
at, and none is missed.

==========  ================================================================================
auction     potentials that are nearly right, by bidding
settle      the best pairs of all users, from potentials that are nearly right: an auction's or others
candidates  the same on pairs that are listed, as they come from a cluster
offers      the best pairs of a row among those of many blocks
run         the first state, the calls of the kernel until it is done, memory, progress, proof
kernel      the loop above, and why it is right
queue       which row or column is due next
scan        the next pair of a row that matters: old offers are brought up to date when first
lists       the best offers of a row, sorted or in blocks, each with a bound of all others
waiting     rows whose next column is in another tree
flow        the pairs given out, and flipping a path
state       all of it as plain arrays, so that compiled code can pause and go on
==========  ================================================================================
"""

from habitprint.matching.solver.run import Solution, solve, solve_sizes
from habitprint.matching.solver.settle import solve_all

__all__ = ["Solution", "solve", "solve_all", "solve_sizes"]
