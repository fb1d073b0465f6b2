// Thread that loads a large catalog: parsing ten thousand servers takes seconds of processor time. Sends the
// servers in slices, each on request, because the receiving thread serves clients meanwhile.

import { parentPort, workerData } from 'node:worker_threads';
import { loadCatalog } from '../config/load-config.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { CatalogMessage, CatalogRequest } from './catalog-in-worker.ts';

const SLICE_SERVERS = 200;

const { path, variables, options } = workerData as CatalogRequest;
const secrets = new SecretValues();
const { value, ...loaded } = await loadCatalog(path, variables, secrets, options);
const entries = Object.entries(value?.servers ?? {});
let sent = 0;
const post = (message: CatalogMessage) => parentPort?.postMessage(message);
parentPort?.on('message', () => {
  const slice = entries.slice(sent, sent + SLICE_SERVERS);
  sent += slice.length;
  if (slice.length > 0) post({ servers: slice });
  else {
    post({ loaded, hasCatalog: value !== undefined, secrets: secrets.list() });
    parentPort?.close();
  }
});
post({ servers: [] });
