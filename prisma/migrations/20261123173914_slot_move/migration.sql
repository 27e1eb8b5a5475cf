-- Slots on their way to or from another cell (packages/accounts/src/move). Empty unless `waymark cell move` is at work.
CREATE TABLE "slot_move" (
  "slot" text COLLATE "C" NOT NULL,
  -- The same in both databases.
  "id" uuid NOT NULL,
  -- In the source: moving, then moved and finishing, or undoing. In the target: arriving.
  "phase" text COLLATE "C" NOT NULL,
  -- Host and database of the other cell, without a password.
  "other" text NOT NULL,
  "started_at" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "slot_move_pkey" PRIMARY KEY ("slot"),
  CONSTRAINT "slot_move_phase_check" CHECK ("phase" IN ('moving', 'moved', 'finishing', 'undoing', 'arriving'))
);

-- Refuses changes of a slot's rows during its move. A service gets the error WM001, which it answers with 503. The worker's
-- statements, which may hold other tenants' rows, leave the row out, and so does an UPDATE of nothing but the columns in the
-- further arguments, a sign of life. A transaction whose snapshot is older than the move has to begin anew. The first argument
-- says where a row's slot is; the triggers exist only during a move.
CREATE FUNCTION "refuse_moving"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  its_slot text;
  now_in text;
BEGIN
  IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
  IF TG_ARGV[0] = 'account_id' THEN
    its_slot := (SELECT slot FROM account WHERE id = changed.account_id);
  ELSIF TG_ARGV[0] = 'site_id' THEN
    its_slot := (SELECT a.slot FROM site s JOIN account a ON a.id = s.account_id WHERE s.id = changed.site_id);
  ELSIF TG_ARGV[0] = 'slot' THEN
    its_slot := changed.slot;
  ELSE
    its_slot := (
      SELECT a.slot FROM membership m JOIN account a ON a.id = m.account_id
      JOIN slot_move v ON v.slot = a.slot AND v.phase <> 'arriving'
      WHERE m.person_id = (to_jsonb(changed) ->> TG_ARGV[0])::uuid LIMIT 1);
  END IF;
  now_in := (SELECT phase FROM slot_move WHERE slot = its_slot);
  IF NOT EXISTS (SELECT FROM slot_move WHERE phase <> 'arriving') THEN
    RAISE EXCEPTION 'a slot began to move' USING ERRCODE = 'serialization_failure';
  END IF;
  IF now_in IS NULL OR now_in = 'arriving' OR now_in = 'finishing' AND TG_OP <> 'INSERT' THEN
    RETURN changed;
  END IF;
  IF current_setting('application_name') = 'waymark worker' THEN RETURN NULL; END IF;
  IF TG_NARGS > 1 AND TG_OP = 'UPDATE' AND to_jsonb(OLD) - TG_ARGV[1:] = to_jsonb(NEW) - TG_ARGV[1:] THEN RETURN NULL; END IF;
  RAISE EXCEPTION 'slot % is moving to another cell', its_slot USING ERRCODE = 'WM001';
END
$$;
