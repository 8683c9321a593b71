"use strict";
// Keys only: every page works without this file. It never fetches, stores or writes anything.
(() => {
  // The link from the terminal has the token behind `#`, which no server and no referrer ever gets.
  const open = document.getElementById("open");
  if (open && location.hash.length > 1) {
    open.elements.token.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    open.submit();
    return;
  }
  const keys = document.getElementById("keys");
  if (!keys) return;
  const items = [...document.querySelectorAll("[data-item]")];
  let at = -1;

  function mark(to) {
    if (!items.length) return false;
    items[at]?.classList.remove("marked");
    at = Math.max(0, Math.min(items.length - 1, to));
    items[at].classList.add("marked");
    items[at].scrollIntoView({ block: "nearest" });
    const link = items[at].querySelector("a, summary");
    if (link) link.focus({ preventScroll: true });
    return true;
  }

  function isTyping(element) {
    return element.isContentEditable || ["TEXTAREA", "SELECT"].includes(element.tagName)
      || (element.tagName === "INPUT" && !["checkbox", "radio", "submit", "button"].includes(element.type));
  }

  function press(key) {
    const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!found || found.disabled) return false;
    if (found.matches("input:not([type=checkbox]), textarea, select")) found.focus();
    else if (found.tagName === "DETAILS") {
      found.open = !found.open;
      if (found.open) found.querySelector("textarea, input, select, summary").focus();
    } else found.click();
    return true;
  }

  // On a page without a search field, `/` leads to the one of the rules.
  function search() {
    const field = document.querySelector("input[type=search]");
    if (field) field.focus();
    else location.assign("rules#q");
  }
  if (location.hash === "#q") search();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
    if (isTyping(event.target) || event.repeat && !"jk".includes(event.key)) return;
    if (keys.open) { if (event.key === "?") { keys.close(); event.preventDefault(); } return; }
    let done = true;
    if (event.key === "?") keys.showModal();
    else if (event.key === "/") search();
    else if (event.key === "j" && !document.querySelector('[data-key="j"]')) done = mark(at + 1);
    else if (event.key === "k" && !document.querySelector('[data-key="k"]')) done = mark(at < 0 ? 0 : at - 1);
    else done = event.key.length === 1 && press(event.key);
    if (done) event.preventDefault();
  });

  // One answer is one answer: a second press while the page loads is not another.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
})();
