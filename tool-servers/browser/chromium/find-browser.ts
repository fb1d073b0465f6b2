// Finds Chromium or Chrome: the usual names on PATH, then the usual installation paths. Other Chromium-based
// browsers differ more and require --browser-path.

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/usr/lib/chromium/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

export const NO_BROWSER =
  'Chromium or Chrome was not found. The operator can install it (Debian and Ubuntu: apt-get install ' +
  'chromium; others: the package chromium or google-chrome), or pass its path with --browser-path.';

/** Searches PATH, then `paths`, for a browser. Returns its path, or undefined. */
export function findBrowser(path = process.env.PATH, paths: readonly string[] = PATHS): string | undefined {
  for (const name of NAMES) {
    const program = findProgram(name, path);
    if (program !== undefined) return program;
  }
  return paths.find(isProgram);
}

/** Searches PATH for a program. Returns its path, or undefined. */
export function findProgram(name: string, path = process.env.PATH): string | undefined {
  const folders = (path ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** True if `path` is an executable file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
