// The licences of the packages whose code stands in the built files, which ask for that. What is installed beside them
// brings its own.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const IN_PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const LICENSE = /^(licen[cs]e|copying|notice)/i;

/** One text with the licence of every package in `inputs`, the paths of files that went into a bundle, from `root`. */
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

function section(folder, name) {
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = existsSync(folder) ? readdirSync(folder).filter((each) => LICENSE.test(each)) : [];
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const head = `${name} ${version} (${license ?? 'see below'})`;
  return `${[head, '-'.repeat(head.length), ...texts].join('\n')}\n`;
}
