-- A visit's row changes for half an hour, then lies for years: the fifth that its pages kept free for changes was a fifth of
-- its disk. A change that leaves the page writes one more entry of one index, and vacuum takes the old one.
ALTER TABLE "visit" RESET (fillfactor);
