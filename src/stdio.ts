#!/usr/bin/env node
// gateway-stdio by itself: the gateway for one client, which talks to it on stdin and stdout.

import { fileURLToPath } from 'node:url';
import { complain } from './cli/views/output.ts';
import { runStdio } from './stdio/run-stdio.ts';

const code = await runStdio(process.argv.slice(2), [fileURLToPath(import.meta.url)]).catch(
  (error: unknown) => {
    complain(error);
    return 1;
  },
);
if (code !== undefined) process.exit(code);
