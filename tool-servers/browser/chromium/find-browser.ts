// Which Chromium or Chrome to start when nobody says: the first of the usual names on PATH, then the places where
// packages put them. Edge, Brave and the like speak the same protocol but change more; they take --browser-path.

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/usr/lib/chromium/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

export const NO_BROWSER =
  'No Chromium or Chrome was found on this machine. Its operator can install one (Debian and Ubuntu: apt-get install ' +
  'chromium; others: the package chromium or google-chrome), or name one with --browser-path.';

/** The path of a browser, or undefined when there is none on PATH nor in one of `places`. */
export function findBrowser(path = process.env.PATH, places: readonly string[] = PLACES): string | undefined {
  for (const name of NAMES) {
    const found = findProgram(name, path);
    if (found !== undefined) return found;
  }
  return places.find(isProgram);
}

/** Where PATH has a program of that name. */
export function findProgram(name: string, path = process.env.PATH): string | undefined {
  const folders = (path ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Whether that is a file which may be executed. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
