#!/usr/bin/env node
// gateway-stdio by itself: the gateway for one client, which talks to it on stdin and stdout.

import { fileURLToPath } from 'node:url';
import { complain } from './cli/views/output.ts';
import { addOwnPrograms } from './own-programs.ts';
import { runStdio } from './stdio/run-stdio.ts';

addOwnPrograms(process.env);
const code = await runStdio(process.argv.slice(2), [fileURLToPath(import.meta.url)]).catch(
  (error: unknown) => {
    complain(error);
    return 1;
  },
);
if (code !== undefined) process.exit(code);
