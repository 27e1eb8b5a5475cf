(extensions) => {
  if (window.waymark.extensions) return;
  window.waymark.extensions = extensions;
  const types =
    /\.(pdf|xlsx|docx|txt|rtf|csv|exe|key|pps|ppt|pptx|7z|pkg|rar|gz|zip|avi|mov|mp4|mpeg|wmv|midi|mp3|wav|wma|dmg)$/i;
  const has = (extension) => extensions.includes(extension);
  const report = (name, props) => window.waymark(name, { props, interactive: false });

  const click = (event) => {
    const link = event.target.closest?.("a");
    if (typeof link?.href !== "string" || (event.type === "auxclick" && event.button !== 1)) return;
    const url = link.href.split("?")[0];
    if (has("outbound-links") && link.host && link.host !== location.host)
      report("Outbound Link: Click", { url: link.href });
    else if (has("file-downloads") && types.test(url)) report("File Download", { url });
  };

  addEventListener("click", click);
  addEventListener("auxclick", click);
  if (has("form-submissions"))
    addEventListener(
      "submit",
      ({ target }) => {
        if (target.noValidate || target.checkValidity()) report("Form: Submission", { path: location.pathname });
      },
      true,
    );
};
