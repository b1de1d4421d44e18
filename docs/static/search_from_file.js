// A browser does not fetch files beside a page that was opened from a disk. The search then takes excerpts from pages.js.
if (location.protocol === "file:") {
  const pages = new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = "_static/pages.js";
    script.onload = () => resolve(window.PAGES);
    document.head.append(script);
  });
  window.fetch = async (address) => new Response((await pages)[address.replace(/^\.\//, "")]);
}
