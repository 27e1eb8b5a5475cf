-- Sessions that scan `slot_move` although scans are off would compile the function's statements for every row written during
-- a move: the disabled cost is above any `jit_above_cost`.
ALTER FUNCTION "refuse_moving"() SET jit = off;
