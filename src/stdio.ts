#!/usr/bin/env node
// Entry point of gateway-stdio: the gateway for one client on stdin and stdout.

import { fileURLToPath } from 'node:url';
import { addBundledPrograms } from './bundled-programs.ts';
import { printMessage } from './cli/views/output.ts';
import { runStdio } from './stdio/run-stdio.ts';

addBundledPrograms(process.env);
const code = await runStdio(process.argv.slice(2), [fileURLToPath(import.meta.url)]).catch(
  (error: unknown) => {
    printMessage(error);
    return 1;
  },
);
if (code !== undefined) process.exit(code);
