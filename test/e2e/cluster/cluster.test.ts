// Three gateways on the same PostgreSQL, with faults of nodes, database and network. In one file, so that the
// tests run sequentially: each starts several processes under load.

import './nodes-lost.ts';
import './nodes-cut-off.ts';
import './rolling-restart.ts';
import './database-lost.ts';
