// Loads the catalog of a reload. A large file is loaded in a thread (catalog-worker.ts), because the gateway
// serves clients meanwhile.

import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { ServerEntry } from '../config/catalog/catalog-schema.ts';
import {
  type CatalogLoader,
  type CatalogVariables,
  type LoadedCatalog,
  loadCatalog,
} from '../config/load-config.ts';
import type { SecretValues } from '../config/reader/secret-values.ts';

/** Size up to which a file is parsed without a thread, in bytes. */
const SMALL_BYTES = 65_536;
/** Limit for a hanging disk. Ten thousand servers need five seconds of processor time. */
const TIMEOUT_MS = 300_000;

export interface CatalogRequest {
  readonly path: string;
  readonly variables: CatalogVariables;
  readonly options: Parameters<CatalogLoader>[3];
}

/** A slice of the servers; after the last one the remaining results. */
export type CatalogMessage =
  | { readonly servers: readonly (readonly [id: string, entry: ServerEntry])[] }
  | {
      readonly loaded: Omit<LoadedCatalog, 'value'>;
      readonly hasCatalog: boolean;
      readonly secrets: readonly string[];
    };

/** If the thread fails or takes too long, `reason` contains the cause and the remedy. */
export const loadCatalogInWorker: CatalogLoader = async (path, variables, secrets, options) => {
  const size = await stat(path).then(
    (stats) => stats.size,
    () => 0,
  );
  if (size <= SMALL_BYTES) return loadCatalog(path, variables, secrets, options);
  const { defaultIsolation } = options;
  const request: CatalogRequest = { path, variables, options: { defaultIsolation } };
  const worker = new Worker(new URL('./catalog-worker.js', import.meta.url), { workerData: request });
  try {
    return await catalogFrom(worker, secrets);
  } catch (error) {
    const cause = (error as Error).message;
    const remedy = 'reload again, or restart the gateway, which needs no thread to read the file';
    return { problems: [], reason: `the thread that reads the file failed: ${cause}; ${remedy}` };
  } finally {
    await worker.terminate();
  }
};

/** Rejects if the thread fails or takes too long. */
function catalogFrom(worker: Worker, secrets: SecretValues): Promise<LoadedCatalog> {
  const servers: Record<string, ServerEntry> = Object.create(null);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it did not end within ${TIMEOUT_MS / 1000} s`)),
      TIMEOUT_MS,
    );
    worker.once('error', reject);
    worker.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`it ended with code ${code}`));
    });
    worker.on('message', (message: CatalogMessage) => {
      if ('servers' in message) {
        for (const [id, entry] of message.servers) servers[id] = entry;
        // The next slice arrives in a later turn of the event loop.
        setImmediate(() => worker.postMessage('next'));
        return;
      }
      secrets.addAll(message.secrets);
      resolve({ ...message.loaded, value: message.hasCatalog ? { servers } : undefined });
    });
  });
}
