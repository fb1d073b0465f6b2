#!/usr/bin/env node
// Entry point of gateway-stdio: the gateway for one client on stdin and stdout.

import { fileURLToPath } from 'node:url';
import { useForwardProxies } from '../actors/gateway/forward-proxies.ts';
import { addBundledPrograms } from './bundled-programs.ts';
import { printMessage } from './cli/views/output.ts';
import { runStdio } from './stdio/run-stdio.ts';

/** Returns the exit code; undefined while the gateway runs. */
async function main(): Promise<number | undefined> {
  addBundledPrograms(process.env);
  await useForwardProxies();
  return runStdio(process.argv.slice(2), [fileURLToPath(import.meta.url)]);
}

const code = await main().catch((error: unknown) => {
  printMessage(error);
  return 1;
});
if (code !== undefined) process.exit(code);
