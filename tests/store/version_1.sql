PRAGMA application_id = 1128612680;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL REFERENCES request(key),
  run TEXT NOT NULL REFERENCES run(id),
  begun_at TEXT NOT NULL,
  ended_at TEXT,
  outcome TEXT,
  text TEXT,
  stop_reason TEXT,
  failure TEXT,
  message TEXT,
  status INTEGER,
  served_model TEXT,
  seconds REAL,
  input INTEGER,
  cached INTEGER,
  cache_write INTEGER,
  output INTEGER,
  reasoning INTEGER
);
INSERT INTO "attempt" VALUES(1,'8e1348fd81b1bb5cd00ae6b66b72d050517ec4783f158d7501d440ac7ae457a2','ac9c9c8b6cde','2026-11-30T15:18:29.030194+00:00','2026-11-30T15:18:29.030368+00:00','answer','I have no preferences.','stop',NULL,NULL,NULL,'one-2026',0.25,100,80,0,7,2);
INSERT INTO "attempt" VALUES(2,'2640eb8d264b243df40cfbc8515d97a58cc11b5f49de95830a8a69292cce623e','ac9c9c8b6cde','2026-11-30T15:18:29.030660+00:00','2026-11-30T15:18:29.030772+00:00','failed','',NULL,'empty','empty',NULL,NULL,0.0,100,80,0,7,2);
INSERT INTO "attempt" VALUES(3,'2424f3379685d4d8ca62acb098ed6a9d0f335830913852e9ad2e047286106d5c','ac9c9c8b6cde','2026-11-30T15:18:29.030961+00:00',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE blob (
  sha256 TEXT PRIMARY KEY,
  zstd BLOB NOT NULL
) WITHOUT ROWID;
INSERT INTO "blob" VALUES('638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9',X'28B52FFD601501AD03009207181A80396DE5474B620509D109E0174C765F975119F7A640DA8414082B41EE8C540D438A80406930B45C34A582DF956C5EF04DB26E1CD5E6CD93029DB0F9C08C66FDAC26EC8E03608D86743BE9E0F75664DF7C93D5EF8974BF2077CE0232A7F22505004204B1204A91DD2D5B57E1300F6AD903');
INSERT INTO "blob" VALUES('9b1706a2844ca2c82fd379efbba519cc1a79e4c5a9f48ffc1bfa23bd180a3237',X'28B52FFD601501AD03009207181A804BDA65DA2031F99278F7DBFD67EBE189FA46AB2D90362105022B41EE8C540F43CAA0408930B45C34A584DF956C6EF04DB27E1CD5E6CD93069DB039C18C66FDAC2EEC020081351AD2EDA485DF9B917DF34D56BF27D2FD82DC390FC89CCA9705004204B1204A91DD2D5B57E1300F6AD903');
INSERT INTO "blob" VALUES('e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6',X'28B52FFD601501AD03009207181A80396DE5C76D921997A829FEBF64F775199595CF2E90362105020D729C9F540D4B4B0191F26068B9D01625F8ACE47E711FA4B18154F72B911AACC27DF2E3698C9626EC0200812D9AD2E4CFFBBC8A5C1FAFFCE273265D668EF3D3807F2A660205004204B1204A91DD2D5B57E1300F6AD903');
INSERT INTO "blob" VALUES('ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1',X'28B52FFD6015019D03009287171980396DE5C76D921997A829FEBF64F7751995716F0AA44D48810D729C9F540B4BCBC090B26068B9D01615F8ACE43E711FA4718154F72B910AACC27DF2E3698C961EEC0C03608BA634F9F33E2F22D7C72BBFF89C499799E3FC24E09F8A9905004204B1204A91DD2D5B57E1300F6AD903');
CREATE TABLE cell (
  run TEXT NOT NULL REFERENCES run(id),
  ordinal INTEGER NOT NULL,
  key TEXT NOT NULL,
  study TEXT NOT NULL,
  target TEXT NOT NULL,
  session TEXT NOT NULL,
  position TEXT NOT NULL,
  arm TEXT NOT NULL,
  battery TEXT NOT NULL,
  stimulus TEXT NOT NULL,
  paraphrase INTEGER NOT NULL,
  replicate INTEGER NOT NULL,
  prefix TEXT NOT NULL REFERENCES blob(sha256),
  PRIMARY KEY (run, ordinal)
) WITHOUT ROWID;
INSERT INTO "cell" VALUES('ac9c9c8b6cde',0,'8e1348fd81b1bb5cd00ae6b66b72d050517ec4783f158d7501d440ac7ae457a2','trajectory','openai/one','s1','P00','control','probes','C00',0,0,'638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',1,'2640eb8d264b243df40cfbc8515d97a58cc11b5f49de95830a8a69292cce623e','trajectory','openai/one','s1','P00','control','probes','C01',0,0,'638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',2,'2424f3379685d4d8ca62acb098ed6a9d0f335830913852e9ad2e047286106d5c','trajectory','openai/one','s1','P00','session','probes','C00',0,0,'ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',3,'57c36ca8cc70aaf19fbefc7ff6f05616a526166c1865bcc809c0be3ff5f081f9','trajectory','openai/one','s1','P00','session','probes','C01',0,0,'ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',4,'b31edd9359de12c9256e7e199a6f9e4f875e5f4ef23ad080eff13a911b493cee','trajectory','openai/one','s1','P01','control','probes','C00',0,0,'9b1706a2844ca2c82fd379efbba519cc1a79e4c5a9f48ffc1bfa23bd180a3237');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',5,'cedde96a3276f9cfbe94d1ca0975bbb511e74ce2e2329515e4667e7434d7e2c4','trajectory','openai/one','s1','P01','control','probes','C01',0,0,'9b1706a2844ca2c82fd379efbba519cc1a79e4c5a9f48ffc1bfa23bd180a3237');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',6,'e4425a9095c97a3e638bf87559afe906f11deaa97a28519e00e5a8735074a3d2','trajectory','openai/one','s1','P01','session','probes','C00',0,0,'e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6');
INSERT INTO "cell" VALUES('ac9c9c8b6cde',7,'7f7a58f8fa3b4e757d62c145046f4fc9c88e7f697122044ecd2197a479678c91','trajectory','openai/one','s1','P01','session','probes','C01',0,0,'e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6');
CREATE TABLE reply (
  key TEXT PRIMARY KEY REFERENCES request(key),
  attempt INTEGER NOT NULL REFERENCES attempt(id),
  settled INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "reply" VALUES('2640eb8d264b243df40cfbc8515d97a58cc11b5f49de95830a8a69292cce623e',2,0);
INSERT INTO "reply" VALUES('8e1348fd81b1bb5cd00ae6b66b72d050517ec4783f158d7501d440ac7ae457a2',1,1);
CREATE TABLE request (
  key TEXT PRIMARY KEY,
  target TEXT NOT NULL,
  context TEXT NOT NULL REFERENCES blob(sha256),
  ask TEXT NOT NULL,
  decoding TEXT NOT NULL,
  sample INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "request" VALUES('2424f3379685d4d8ca62acb098ed6a9d0f335830913852e9ad2e047286106d5c','openai/one','ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1','[{"role":"user","text":"Question number 0?"}]','{"max_output_tokens":50,"seed":null,"temperature":1.0,"top_p":null}',0);
INSERT INTO "request" VALUES('2640eb8d264b243df40cfbc8515d97a58cc11b5f49de95830a8a69292cce623e','openai/one','638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9','[{"role":"user","text":"Question number 1?"}]','{"max_output_tokens":50,"seed":null,"temperature":1.0,"top_p":null}',0);
INSERT INTO "request" VALUES('8e1348fd81b1bb5cd00ae6b66b72d050517ec4783f158d7501d440ac7ae457a2','openai/one','638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9','[{"role":"user","text":"Question number 0?"}]','{"max_output_tokens":50,"seed":null,"temperature":1.0,"top_p":null}',0);
CREATE TABLE run (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  begun_at TEXT NOT NULL,
  study TEXT NOT NULL,
  session TEXT NOT NULL,
  session_path TEXT NOT NULL,
  targets TEXT NOT NULL,
  plan TEXT NOT NULL,
  versions TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "run" VALUES('ac9c9c8b6cde','2026-11-30T15:18:29.027894+00:00','2026-11-30T15:18:29.027894+00:00','trajectory','s1','session.jsonl','["openai/one"]','{"batteries":{"probes":{"framing":null,"id":"probes","licence":"CC0-1.0","sha256":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","source":"test","stimuli":[{"answers":[],"category":"coding-self","check":null,"id":"C00","kind":"probe","wordings":["Question number 0?"]},{"answers":[],"category":"coding-self","check":null,"id":"C01","kind":"probe","wordings":["Question number 1?"]}],"version":"1"}},"contexts":["638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9","9b1706a2844ca2c82fd379efbba519cc1a79e4c5a9f48ffc1bfa23bd180a3237","e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6","ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1"],"control_ratio":{"P00":1.0,"P01":1.0},"decoding":{"max_output_tokens":50,"seed":null,"temperature":1.0,"top_p":null},"notes":[],"origin":{"began":null,"ended":null,"format":"claude-code","models":["m"],"prompts":3,"steps":9,"versions":["2.1.62"]},"positions":[{"conditions":null,"label":"P00","line":100,"order":0,"prompt":0,"row_turn":100,"segment":0,"step":100},{"conditions":null,"label":"P01","line":200,"order":1,"prompt":1,"row_turn":200,"segment":0,"step":200}],"prefix_tokens":{"638fccf581511097b9c1b343bd766ed76a3e64836f100c2c56d011843810f9f9":102,"9b1706a2844ca2c82fd379efbba519cc1a79e4c5a9f48ffc1bfa23bd180a3237":102,"e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6":102,"ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1":102},"protocol":{"acknowledgement":"","budget":7500,"budget_unit":"tokens","control":"prose","decoding":{"max_output_tokens":50,"seed":null,"temperature":1.0,"top_p":null},"id":"strict","paraphrases":1,"rendering":"native","rubric":"register-1","system":"You are a helpful assistant.","version":"1"},"serving":{},"session":"s1","session_path":"made-up.jsonl","session_sha256":"5555555555555555555555555555555555555555555555555555555555555555","snapshots":[{"chars":411,"context":"ea26386731164ccd42042207f27924f59db89fcb4eeecf04b61344a4b0b8f5d1","counter":"estimate","dropped_turns":0,"position":{"conditions":null,"label":"P00","line":100,"order":0,"prompt":0,"row_turn":100,"segment":0,"step":100},"protocol":"strict","rendering":"native","session_id":"s1","summary_kept":null,"tokens":102},{"chars":411,"context":"e3c832e507d357a63332866b72c777e0b21be5f698c47aee78896c05c18f4dd6","counter":"estimate","dropped_turns":0,"position":{"conditions":null,"label":"P01","line":200,"order":1,"prompt":1,"row_turn":200,"segment":0,"step":200},"protocol":"strict","rendering":"native","session_id":"s1","summary_kept":null,"tokens":102}],"study":{"anchor":null,"anchor_placement":"user","arms":["control","session"],"batteries":["probes"],"contrasts":[{"id":"gap","minus":"session","minus_from":"control","question":"Drift?"}],"id":"trajectory","negative_controls":null,"paraphrases":1,"positions":"even:2","protocol":"strict","question":"Does the register move?","replicates":1,"version":"1"},"targets":["openai/one"],"token_counter":"estimate"}','{"contextecho":"0.1.0"}');
CREATE TABLE verdict (
  reply_key TEXT NOT NULL REFERENCES reply(key),
  scorer TEXT NOT NULL,
  scorer_version TEXT NOT NULL,
  value REAL,
  invalid TEXT,
  detail TEXT NOT NULL,
  PRIMARY KEY (reply_key, scorer, scorer_version)
) WITHOUT ROWID;
INSERT INTO "verdict" VALUES('8e1348fd81b1bb5cd00ae6b66b72d050517ec4783f158d7501d440ac7ae457a2','register/j','r1',2.0,NULL,'{"reason":"plain"}');
CREATE INDEX attempt_key ON attempt(key);
COMMIT;
