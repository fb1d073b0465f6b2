#!/usr/bin/env node
// Entry point of actor-gateway, also installed as gateway-http: runs a command or the gateway. Each is
// imported separately: a command loads neither the gateway nor its options, and the gateway no command.

import { fileURLToPath } from 'node:url';
import { useForwardProxies } from '../actors/gateway/forward-proxies.ts';
import { addBundledPrograms } from './bundled-programs.ts';
import { printMessage } from './cli/views/output.ts';

/** Returns the exit code; undefined while the gateway runs. */
async function main(): Promise<number | undefined> {
  addBundledPrograms(process.env);
  await useForwardProxies();
  const [first, ...rest] = process.argv.slice(2);
  if (first === 'stdio') {
    const { runStdio } = await import('./stdio/run-stdio.ts');
    return runStdio(rest, [fileURLToPath(import.meta.url), 'stdio']);
  }
  if (first !== undefined && !first.startsWith('-')) {
    const { runCommand } = await import('./cli/commands/run-command.ts');
    return runCommand([first, ...rest]);
  }
  const { parseOptions } = await import('./cli/options.ts');
  const parsed = parseOptions(process.argv.slice(2));
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
  if (options.isCheckOnly) {
    const { check } = await import('./cli/commands/check.ts');
    return check(options);
  }
  const { serve } = await import('./serve.ts');
  return serve(options);
}

const code = await main().catch((error: unknown) => {
  printMessage(error);
  return 1;
});
if (code !== undefined) process.exit(code);
