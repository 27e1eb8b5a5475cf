if (!window.waymark?.isLoaded) {
  const { src, dataset } = document.currentScript;
  const waiting = window.waymark?.q || [];
  const api = dataset.api || `${new URL(src).origin}/api/event`;
  const domain = dataset.domain || location.hostname;
  let referrer = document.referrer;
  let isSeen;
  let path;
  let page;
  let since;
  let engaged;
  let depth;
  let sent;

  const send = (name, options, engagement) => {
    try {
      if (localStorage.waymark_ignore === "true") return;
    } catch {}
    const body = JSON.stringify({
      n: name,
      u: location.href,
      d: domain,
      r: referrer,
      p: options?.props,
      i: options?.interactive,
      $: options?.revenue,
      ...engagement,
    });
    if (window.Request && "keepalive" in Request.prototype)
      fetch(api, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(() => {});
    else navigator.sendBeacon(api, body);
  };

  const measure = () => {
    depth = Math.max(depth, Math.round(((scrollY + innerHeight) / document.documentElement.scrollHeight) * 100));
  };

  const leave = () => {
    if (!since) return;
    measure();
    engaged += Date.now() - since;
    since = 0;
    if (depth <= sent && engaged < 3000) return;
    send("engagement", 0, { u: page, e: engaged, sd: depth });
    sent = depth;
    engaged = 0;
  };

  const view = () => {
    if (!isSeen || path === location.pathname) return;
    leave();
    path = location.pathname;
    page = location.href;
    send("pageview");
    referrer = page;
    since = Date.now();
    engaged = depth = 0;
    sent = -1;
  };

  const see = () => {
    if (document.visibilityState !== "visible") return leave();
    if (isSeen) since = since || Date.now();
    else {
      isSeen = true;
      view();
      for (const call of waiting) send(...call);
    }
  };

  window.waymark = (...call) => (isSeen ? send(...call) : waiting.push(call));
  window.waymark.visit = () =>
    fetch(`${api}?domain=${domain}`)
      .then((answer) => answer.json())
      .then(({ visit }) => visit || null)
      .catch(() => null);
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
    if (persisted) path = 0;
    view();
  });
  addEventListener("pagehide", leave);
  addEventListener("scroll", measure);
  document.addEventListener("visibilitychange", see);
  see();
}
