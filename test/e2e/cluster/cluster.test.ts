// Three gateways on one PostgreSQL, and what may become of them, of the database and of the lines between. In one file, so that one after
// the other has the machine: each is several processes under load.

import './nodes-lost.ts';
import './nodes-cut-off.ts';
import './rolling-restart.ts';
import './database-lost.ts';
