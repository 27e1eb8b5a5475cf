/**
 * Those of the 10,000 commonest passwords that have 10 characters or more, in lower case: shorter ones are refused anyway. From
 * the list of @zxcvbn-ts/language-common 4.1.3, MIT licence, Copyright (c) 2012-2016 Dan Wheeler and Dropbox, Inc., (c) 2021 zxcvbn-ts.
 */
export const commonPasswords: ReadonlySet<string> = new Set(
  `
qwertyuiop 1234567890 q1w2e3r4t5 1q2w3e4r5t 4815162342 123456789a 12345qwert 1234554321 usuckballz1
password123 123456789q basketball 1029384756 123qweasdzxc soso123aljg manchester 1qaz2wsx3edc 12345678910
q1w2e3r4t5y6 1123581321 qwerty12345 1q2w3e4r5t6y fuck_inside mailcreated5240 nuttertools 1122334455
qazwsxedcrfv 123456qwerty 1234567890q terminator qwerty123456 california enterprise 123456789z rjirfrgbde
christopher polniypizdec0211 fktrcfylhf sojdlg123aljg a123456789 translator deepthroat undertaker qwerty1234
motherlode multiplelo rjycnfynby syncmaster aleksandra salamander sersolution montgom240 leavemealone
motherfucker realmadrid tinkerbell 123456654321 dragonball playstation ghostrider 1234567890a 1357924680
7ugd5hip2j gfhjkmgfhjkm 9293709b13 microphone 1234567891 washington vsjasnel12 qazwsxedc123 yjdsqgfhjkm
strawberry anastasiya mypassword zxcvbnm123 harrypotter qwert12345 password12 abrakadabra alessandro
123456789s good123654 fuckinside konstantin 7894561230 underground tokiohotel highlander ghjcnjgfhjkm
evangelion zxcasdqwe123 sonyericsson suckmydick pufunga7782 liverpool1 university hellokitty ghhh47hj7649
roadrunner ironmaiden mississippi intercourse 12345qwerty htubcnhfwbz 123456789m revolution absolutely
q123456789 vqsablpzla friendster skateboard masterbate 123456789d vfntvfnbrf penetration 0192837465 cocksucker
123456789qwe alexander1 nthvbyfnjh azertyuiop password01 1qazxsw23edc 1234567899 ilovepussy 1234509876
password99 abracadabra madagaskar sweetheart ronaldinho masterbating dragonballz rfhfvtkmrf ghjcnbnenrf
information supersonic qwerasdfzxcv qweasdzxc123 cheerleaers metallica1 123456789r flvbybcnhfnjh experienced
greedisgood
`.match(/\S+/g),
);
