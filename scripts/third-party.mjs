// Collects the licences of bundled packages, because they must be distributed with the code. Packages that
// are not bundled include licence files.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A path in a package: the match is the folder of the package, group 1 its name. */
const IN_PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const LICENSE = /^(licen[cs]e|copying|notice)/i;

/**
 * Returns the licence texts of all packages in `inputs`, which are paths of bundled files relative to `root`.
 */
export function licencesOf(root, inputs) {
  const folders = new Map();
  for (const path of inputs) {
    const [folder, name] = IN_PACKAGE.exec(path) ?? [];
    if (folder !== undefined) folders.set(folder, name);
  }
  const sections = [...folders]
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([folder, name]) => section(join(root, folder), name));
  return [...new Set(sections)].join('\n');
}

/** Returns a package's name, version and licence texts. */
function section(folder, name) {
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = existsSync(folder) ? readdirSync(folder).filter((each) => LICENSE.test(each)) : [];
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const head = `${name} ${version} (${license ?? 'see below'})`;
  return `${[head, '-'.repeat(head.length), ...texts].join('\n')}\n`;
}
