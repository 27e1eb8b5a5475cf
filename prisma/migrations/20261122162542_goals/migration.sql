-- Goals of a site, and funnels of goals as steps. prisma/README.md says why.

CREATE TABLE "goal" (
  "id" uuid NOT NULL,
  "site_id" uuid NOT NULL,
  "name" text NOT NULL,
  "event" text,
  "property" text,
  "value" text,
  "page" text,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "goal_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "goal_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "goal_kind_check" CHECK (("event" IS NULL) <> ("page" IS NULL)),
  CONSTRAINT "goal_property_check" CHECK (
    ("property" IS NULL) = ("value" IS NULL) AND ("property" IS NULL OR "event" IS NOT NULL)
  )
);

CREATE TABLE "funnel" (
  "id" uuid NOT NULL,
  "site_id" uuid NOT NULL,
  "name" text NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "funnel_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "funnel_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- They list a site's rows, and keep a funnel's goals in its site.
CREATE UNIQUE INDEX "goal_site_id_id_key" ON "goal" ("site_id", "id");
CREATE UNIQUE INDEX "funnel_site_id_id_key" ON "funnel" ("site_id", "id");

CREATE TABLE "funnel_step" (
  "site_id" uuid NOT NULL,
  "funnel_id" uuid NOT NULL,
  "position" int NOT NULL,
  "goal_id" uuid NOT NULL,
  CONSTRAINT "funnel_step_pkey" PRIMARY KEY ("site_id", "funnel_id", "position"),
  -- A deleted site takes its steps along before it asks whether a step has one of its goals.
  CONSTRAINT "funnel_step_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "funnel_step_site_id_funnel_id_fkey" FOREIGN KEY ("site_id", "funnel_id")
    REFERENCES "funnel" ("site_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "funnel_step_site_id_goal_id_fkey" FOREIGN KEY ("site_id", "goal_id")
    REFERENCES "goal" ("site_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE
);
