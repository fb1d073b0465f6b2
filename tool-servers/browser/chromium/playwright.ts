// Loads Playwright on the first call, because most servers start but are never called. playwright-core is an
// optional peer dependency: installations that do not use the browser server can omit it.

import type { BrowserType } from 'playwright-core';
import { ToolError } from '../../tool-error.ts';

const NO_PLAYWRIGHT =
  'playwright-core is not installed. The operator can install it with npm install playwright-core, in a checkout of the ' +
  'gateway with npm start.';

/** Returns Playwright's Chromium. Throws a ToolError if playwright-core is not installed. */
export async function loadChromium(): Promise<BrowserType> {
  try {
    return (await import('playwright-core')).chromium;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ToolError(NO_PLAYWRIGHT);
  }
}
