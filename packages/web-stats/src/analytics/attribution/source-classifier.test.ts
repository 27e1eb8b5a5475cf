import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { loadReferrers } from "./referrer-directory.js";
import { channels, createSourceClassifier } from "./source-classifier.js";

const classify = createSourceClassifier({ referrers: loadReferrers(), siteDomain: "www.Example.com" });
const of = (referrer: string | null, query: string | null = null) => {
  const { source, channel } = classify(referrer, query);
  return [source, channel];
};

describe("a referrer", () => {
  it.each([
    ["https://www.google.com/", "Google", "Search"],
    ["http://www.google.ro/url?sa=t&rct=j&q=", "Google", "Search"],
    ["https://www.google.co.uk/search?q=x", "Google", "Search"],
    ["https://google.com.br", "Google", "Search"],
    ["https://images.google.de/imgres?x", "Google Images", "Search"],
    ["https://www.google.com/imgres?imgurl=x", "Google Images", "Search"],
    ["https://www.bing.com/", "Bing", "Search"],
    ["https://cn.bing.com/search?q=x", "Bing", "Search"],
    ["https://duckduckgo.com/", "DuckDuckGo", "Search"],
    ["https://de.search.yahoo.com/search?p=x", "Yahoo!", "Search"],
    ["https://yandex.com.tr/", "Yandex", "Search"],
    ["https://m.facebook.com/", "Facebook", "Social"],
    ["https://l.instagram.com/?u=x", "Instagram", "Social"],
    ["https://news.ycombinator.com/item?id=1", "Hacker News", "Social"],
    ["https://old.reddit.com/r/programming", "reddit", "Social"],
    ["https://t.co/abc", "Twitter", "Social"],
    ["https://x.com/i/grok", "Grok", "AI Assistants"],
    ["https://chatgpt.com/", "ChatGPT", "AI Assistants"],
    ["https://www.perplexity.ai/search/x", "Perplexity", "AI Assistants"],
    ["https://gemini.google.com/app", "Gemini", "AI Assistants"],
    ["https://www.youtube.com/watch?v=1", "YouTube", "Video"],
    ["https://player.vimeo.com/", "Vimeo", "Video"],
    ["https://www.amazon.co.uk/dp/1", "Amazon", "Shopping"],
    ["https://mail.google.com/", "Gmail", "Email"],
    ["https://docs.google.com/document", "docs.google.com", "Referral"],
    ["https://en.wikipedia.org/wiki/X", "Wikipedia", "Referral"],
    ["https://www.cnn.com/", "cnn.com", "Referral"],
    ["https://Blog.Some-Site.org:8443/a?b#c", "blog.some-site.org", "Referral"],
    ["https://www.some-site.org./", "some-site.org", "Referral"],
    ["http://192.0.2.7/x", "192.0.2.7", "Referral"],
    ["http://[2001:db8::1]/", "[2001:db8::1]", "Referral"],
    ["http://localhost:3000/", "localhost", "Referral"],
    ["https://notgoogle.com/", "notgoogle.com", "Referral"],
    ["https://google.com.evil.test/", "google.com.evil.test", "Referral"],
  ])("%s comes from %s by %s", (referrer, source, channel) => {
    expect(of(referrer)).toEqual([source, channel]);
  });

  it("may be an app or lack its scheme", () => {
    expect(of("android-app://com.google.android.googlequicksearchbox/https/www.google.com")).toEqual([
      "Google",
      "Search",
    ]);
    expect(of("android-app://com.google.android.googlequicksearchbox/")).toEqual(["Google", "Search"]);
    expect(of("android-app://com.google.android.gm/")).toEqual(["Gmail", "Email"]);
    expect(of("android-app://org.some.app/")).toEqual(["org.some.app", "Referral"]);
    expect(of("www.google.de/search?q=x")).toEqual(["Google", "Search"]);
    expect(of("//some-site.org/x")).toEqual(["some-site.org", "Referral"]);
  });

  it.each([
    "",
    " ",
    "-",
    "about:blank",
    "null",
    "https://",
    "http:///",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://a b/",
    "%00",
    "http://%zz/",
    "data:text/html,x",
    "ftp://some-site.org/",
  ])("%j names no place, so the visit is direct", (referrer) => {
    expect(classify(referrer, null)).toMatchObject({ source: null, channel: "Direct", referrer: null });
  });

  it.each([
    "https://example.com/a",
    "http://www.example.com/",
    "https://shop.example.com:8080/",
    "https://EXAMPLE.com./",
    "android-app://org.some.app/https/example.com/a",
  ])("of the site itself, %s, counts as none", (referrer) => {
    expect(classify(referrer, null)).toMatchObject({ source: null, channel: "Direct", referrer: null });
  });

  it("of a site whose name only ends alike is another's", () => {
    expect(of("https://myexample.com/")).toEqual(["myexample.com", "Referral"]);
    expect(of("https://example.com.test/")).toEqual(["example.com.test", "Referral"]);
  });

  it("is stored without query, fragment and password, and by its origin alone where it is long", () => {
    const stored = (referrer: string) => classify(referrer, null).referrer;
    expect(stored("https://user:secret@some-site.org/a/b?token=1#c")).toBe("https://some-site.org/a/b");
    expect(stored(`https://some-site.org/${"a".repeat(1_978)}`)).toHaveLength(2_000);
    expect(stored(`https://some-site.org/${"a".repeat(1_979)}`)).toBe("https://some-site.org");
    expect(stored(`https://some-site.org/?q=${"a".repeat(50_000)}`)).toBe("https://some-site.org/");
  });
});

describe("tags of the visited URL", () => {
  it.each([
    ["utm_source=google&utm_medium=cpc", "Google", "Paid Search"],
    ["utm_source=GOOGLE&utm_medium=CPC", "Google", "Paid Search"],
    ["utm_source=bing&utm_medium=ppc", "Bing", "Paid Search"],
    ["utm_source=facebook&utm_medium=paid_social", "Facebook", "Paid Social"],
    ["utm_source=fb&utm_medium=cpm", "Facebook", "Paid Social"],
    ["utm_source=youtube&utm_medium=cpv%20cpc", "YouTube", "Paid Video"],
    ["utm_source=amazon&utm_medium=retargeting", "Amazon", "Paid Shopping"],
    ["utm_source=google&utm_medium=cpc&utm_campaign=spring-shop", "Google", "Paid Shopping"],
    ["utm_source=google&utm_medium=cpc&utm_campaign=x-cross-network", "Google", "Cross-network"],
    ["utm_source=some-ads&utm_medium=banner", "some-ads", "Display"],
    ["utm_source=some-ads&utm_medium=cpc", "some-ads", "Paid Other"],
    ["utm_source=x1&utm_campaign=shopping", "x1", "Shopping"],
    ["utm_source=x1&utm_campaign=workshop", "x1", "Referral"],
    ["utm_source=some-blog&utm_medium=social", "some-blog", "Social"],
    ["utm_source=some-blog&utm_medium=sm", "some-blog", "Social"],
    ["utm_source=some-blog&utm_medium=promo-video", "some-blog", "Video"],
    ["utm_source=chatgpt.com", "ChatGPT", "AI Assistants"],
    ["utm_source=claude.ai&utm_medium=referral", "Claude", "AI Assistants"],
    ["utm_source=google", "Google", "Search"],
    ["utm_source=some-engine&utm_medium=organic", "some-engine", "Search"],
    ["utm_source=weekly&utm_medium=email", "weekly", "Email"],
    ["utm_medium=e-mail", null, "Email"],
    ["utm_source=newsletter", "newsletter", "Email"],
    ["utm_source=partner&utm_medium=affiliate", "partner", "Affiliates"],
    ["utm_source=some-podcast&utm_medium=audio", "some-podcast", "Audio"],
    ["utm_source=sms", "sms", "SMS"],
    ["utm_source=app&utm_medium=web-push", "app", "Push"],
    ["utm_source=firebase", "firebase", "Push"],
    ["utm_source=Some+Partner&utm_medium=brochure", "Some Partner", "Referral"],
    ["utm_medium=link", null, "Referral"],
    ["utm_medium=brochure", null, "Direct"],
    ["utm_source=(direct)&utm_medium=(none)", null, "Direct"],
    ["utm_source=&utm_medium=&utm_campaign=", null, "Direct"],
    ["utm_source=hacker-news", "Hacker News", "Social"],
    ["utm_source=news.ycombinator.com", "Hacker News", "Social"],
    ["utm_source=https%3A%2F%2Fwww.Some-Site.org%2Fx", "some-site.org", "Referral"],
    ["utm_source=free", "free", "Referral"],
    ["gclid=abc", "Google", "Paid Search"],
    ["gbraid=abc", "Google", "Paid Search"],
    ["wbraid=abc", "Google", "Paid Search"],
    ["msclkid=abc", "Bing", "Paid Search"],
    ["twclid=abc", "Twitter", "Paid Social"],
    ["fbclid=abc", "Facebook", "Social"],
    ["gclid=", null, "Direct"],
    ["gclid=abc&utm_source=weekly&utm_medium=email", "weekly", "Email"],
    ["q=utm_source", null, "Direct"],
  ])("%s without a referrer: %s by %s", (query, source, channel) => {
    expect(of(null, query)).toEqual([source, channel]);
    expect(of("https://example.com/", `?${query}`)).toEqual([source, channel]);
  });

  it("is told with its tags as written, medium and campaign in lower case", () => {
    const query = "utm_source=The%20Weekly&utm_medium=EMail&utm_campaign=Spring";
    const tags = { utm_source: "The Weekly", utm_medium: "email", utm_campaign: "spring" };
    expect(classify(null, query)).toMatchObject({ source: "The Weekly", ...tags });
    expect(classify(null, "gclid=1")).toMatchObject({ utm_source: null, utm_medium: null, utm_campaign: null });
  });

  it("go above the referrer", () => {
    expect(of("https://some-site.org/", "utm_source=weekly&utm_medium=email")).toEqual(["weekly", "Email"]);
    expect(of("https://www.google.com/", "utm_source=(direct)")).toEqual([null, "Direct"]);
    expect(of("https://some-site.org/", "utm_medium=affiliate")).toEqual(["some-site.org", "Affiliates"]);
  });

  it("of a click leave the referrer its name and say that it was paid for", () => {
    expect(of("https://www.google.com/", "gclid=1")).toEqual(["Google", "Paid Search"]);
    expect(of("https://www.youtube.com/", "gclid=1")).toEqual(["YouTube", "Paid Video"]);
    expect(of("https://some-site.org/", "gclid=1")).toEqual(["some-site.org", "Paid Search"]);
    expect(of("https://lm.facebook.com/", "fbclid=1")).toEqual(["Facebook", "Social"]);
    expect(of("https://some-site.org/", "fbclid=1")).toEqual(["some-site.org", "Referral"]);
  });

  it("are cut at 255 bytes, between characters, and lose control characters", () => {
    expect(of(null, `utm_source=${"ü".repeat(300)}`)[0]).toBe("ü".repeat(127));
    expect(of(null, "utm_source=a%00b%0Ac%ED%A0%80&utm_medium=x")[0]).toBe("a b c\ufffd\ufffd\ufffd");
  });
});

describe("any input", () => {
  it("gets one of the channels, a source that can be stored, and never throws", () => {
    const query = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webQueryParameters(),
      fc.string().map((s) => `utm_source=${s}`),
    );
    const referrer = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webUrl(),
      fc.string().map((s) => `http://${s}`),
    );
    fc.assert(
      fc.property(fc.option(referrer), fc.option(query), (from, tags) => {
        const { source, channel, referrer: stored } = classify(from, tags);
        expect(channels).toContain(channel);
        expect(Buffer.byteLength(source ?? "")).toBeLessThanOrEqual(255);
        expect(source).not.toBe("");
        expect(source ?? "").not.toMatch(/\p{Cc}/u);
        expect(Buffer.byteLength(stored ?? "")).toBeLessThanOrEqual(2_000);
        expect(stored ?? "").not.toContain("?");
      }),
    );
  });
});

describe("the lists", () => {
  const directory = loadReferrers();
  it.each([
    ["1.cz", "1.cz"],
    ["123people.de", "123people"],
    ["www.123people.com", "123people"],
    ["so.360.cn", "360search"],
    ["fr.altavista.com", "AltaVista"],
    ["images.uk.ask.com", "Ask"],
    ["www.lycos.co.uk", "Lycos"],
    ["blogsearch.google.com.au", "Google Blogsearch"],
    ["plus.google.com", "Google+"],
    ["com.reddit.frontpage", "reddit"],
    ["login.tagged.com", "Tagged"],
    ["pix.toot.wales", "Pixelfed"],
  ])("know %s as %s", (host, name) => {
    expect(directory.byHost(host)?.name).toBe(name);
  });

  it("know no part of a name and no bare ending", () => {
    for (const host of ["com", "de", "co.uk", "book.com", "xgoogle.com", "google", ""]) {
      expect(directory.byHost(host)).toBeUndefined();
    }
  });
});
