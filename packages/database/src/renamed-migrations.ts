/** Migrations whose first names were dated ahead of their commits, by those names. Databases and backups may know them. */
export const presentNames: Readonly<Record<string, string>> = {
  "20261122000000_real_clients": "20261121121617_real_clients",
  "20261123000000_otlp_context": "20261121231023_otlp_context",
  "20261123010000_alert_limits": "20261121231024_alert_limits",
  "20261123020000_event_horizon": "20261121233513_event_horizon",
  "20261123040000_platform": "20261121233514_platform",
  "20261123050000_site_claims": "20261121233515_site_claims",
  "20261123900000_least_power": "20261121233538_least_power",
  "20261125000000_people": "20261122054057_people",
  "20261125010000_site_proof": "20261122063126_site_proof",
  "20261126000000_session_ends": "20261122085558_session_ends",
  "20261127000000_imported_days": "20261122123431_imported_days",
  "20261127010000_visits": "20261122123754_visits",
  "20261127020000_shared_keys": "20261122133319_shared_keys",
  "20261128000000_engagement": "20261122154114_engagement",
  "20261128005000_engagement_type": "20261122162540_engagement_type",
  "20261128010000_day_parts": "20261122162541_day_parts",
  "20261128030000_goals": "20261122162542_goals",
  "20261129000000_model_calls": "20261123015305_model_calls",
  "20261129100000_failures": "20261123015306_failures",
  "20261129101000_alert_rules": "20261123015307_alert_rules",
  "20261129102000_scores": "20261123015308_scores",
  "20261129200000_channels": "20261123015309_channels",
  "20261129201000_failing_agents": "20261123015310_failing_agents",
  "20261129300000_trace_stream": "20261123015311_trace_stream",
  "20261130100000_span_week_bound": "20261123015312_span_week_bound",
  "20261130101000_span_week_check": "20261123015313_span_week_check",
  "20261130102000_span_weeks": "20261123015314_span_weeks",
  "20261201000000_account_slot": "20261123030128_account_slot",
  "20261201100000_trace_blocks": "20261123034455_trace_blocks",
  "20261202000000_visitor_day_bound": "20261123170412_visitor_day_bound",
  "20261202001000_visitor_day_check": "20261123170413_visitor_day_check",
  "20261202002000_visitor_days": "20261123170414_visitor_days",
  "20261203000000_slot_move": "20261123173914_slot_move",
  "20261203010000_visit_fill": "20261124061717_visit_fill",
};

/** A migration's name of today. @param name of a database or backup */
export const presentName = (name: string): string => presentNames[name] ?? name;

/** Gives migrations of older databases their present names; changes nothing where there are none. */
export const renameMigrations = {
  text: `UPDATE _prisma_migrations SET migration_name = present.name
    FROM unnest($1::text[], $2::text[]) AS present (old, name) WHERE migration_name = present.old`,
  values: [Object.keys(presentNames), Object.values(presentNames)],
};
