(() => {
  const stub = window.waymark;
  if (stub?.isLoaded) return;
  const { src, dataset } = document.currentScript;
  const waiting = stub?.q || [];
  const api = dataset.api || `${new URL(src).origin}/api/event`;
  let referrer = document.referrer;
  let isSeen = false;
  let path;

  const send = (name, options) => {
    try {
      if (localStorage.waymark_ignore === "true") return;
    } catch {}
    const body = JSON.stringify({
      n: name,
      u: location.href,
      d: dataset.domain || location.hostname,
      r: referrer,
      p: options?.props,
    });
    if (window.Request && "keepalive" in Request.prototype)
      fetch(api, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(() => {});
    else navigator.sendBeacon(api, body);
  };

  const view = () => {
    if (!isSeen || path === location.pathname) return;
    path = location.pathname;
    send("pageview");
    referrer = location.href;
  };

  const see = () => {
    if (isSeen || document.visibilityState !== "visible") return;
    isSeen = true;
    view();
    for (const call of waiting) send(...call);
  };

  window.waymark = (...call) => (isSeen ? send(...call) : waiting.push(call));
  window.waymark.isLoaded = true;
  for (const method of ["pushState", "replaceState"]) {
    const original = history[method];
    history[method] = function (...state) {
      original.apply(this, state);
      view();
    };
  }
  addEventListener("popstate", view);
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    path = undefined;
    view();
  });
  document.addEventListener("visibilitychange", see);
  see();
})();
