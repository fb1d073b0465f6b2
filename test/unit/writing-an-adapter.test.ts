// The guide to new adapters: files exist, imports are exported, and the code compiles.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = ['writing-an-adapter', 'adapter-sending', 'adapter-reference']
  .map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8'))
  .join('\n');
/** Returns true for files that the reader of the guide creates. */
const isOwn = (path: string) => /teamboard|board-|-NAME/i.test(path);

test('each repository file that the adapter guide names exists, except the files that the reader creates', () => {
  const mentionedFiles = [...guide.matchAll(/`((?:actors|config|machines|libs|test|docs|src)\/[\w./-]+)`/g)];
  const paths = mentionedFiles.map(([, path = '']) => path).filter((path) => !isOwn(path));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the imports in the examples of the guide are exported', () => {
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const folders = [
    'config/resources/platforms',
    ...Array<string>(blocks.length - 1).fill('actors/platforms/teamboard'),
  ];
  const missing = blocks.flatMap((code, at) =>
    [...code.matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']+)'/g)].flatMap(
      ([, names = '', from = '']) => {
        const file = join(root, folders[at] ?? '', from);
        if (from.startsWith('./')) return [];
        const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
        const exportNames = names.split(',').map((name) => name.trim().replace(/^type /, ''));
        return (
          exportNames
            // The reader adds this type to trigger.ts.
            .filter((name) => name !== '' && name !== 'TeamBoardTrigger')
            .filter(
              (name) =>
                !new RegExp(`export (?:type|interface|class|const|function|async function) ${name}\\b`).test(
                  text,
                ),
            )
            .map((name) => `${name} of ${from}`)
        );
      },
    ),
  );
  expect(blocks.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);
});

/** Returns the members of an exported interface, from the source. */
function membersOf(file: string, name: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const [, body = ''] =
    new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:<]/gm)].map(([, member = '']) => member);
}

test.each([
  ['actors/platforms/adapter.ts', 'Adapter'],
  ['actors/events/inbound-event.ts', 'InboundEvent'],
  ['actors/platforms/adapter.ts', 'TriggerHost'],
  ['actors/platforms/webhooks/webhook-table.ts', 'PathHandler'],
  ['actors/platforms/connections/connector.ts', 'Connector'],
  ['actors/platforms/connections/connector.ts', 'OpenConnection'],
  ['actors/events/outbox/outbound.ts', 'Outbound'],
  ['actors/events/outbox/outbound.ts', 'SendContext'],
  ['actors/events/outbox/message.ts', 'OutboundTarget'],
  ['actors/events/outbox/message.ts', 'OutboundMessage'],
  ['actors/events/outbox/message.ts', 'MessageCard'],
  ['actors/events/outbox/message.ts', 'CardAction'],
  ['actors/events/outbox/delivery-error.ts', 'DeliveryErrorOptions'],
  ['config/resources/triggers/trigger-type.ts', 'TriggerType'],
])('the adapter guide mentions, from %s, every member of %s', (file, name) => {
  const members = membersOf(file, name);
  expect(members.length).toBeGreaterThan(1);
  expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(guide))).toEqual([]);
});

const scratch = newFolder('guide-');

/** Returns the files that the reader creates; the path is the last one mentioned before the code. */
function filesOfReader(): ReadonlyMap<string, string> {
  const paths = [...guide.matchAll(/`((?:config|actors)\/[\w./-]*teamboard[\w/-]*\.ts)`/g)];
  const files = [...guide.matchAll(/```ts\n(.*?)```/gs)].flatMap(({ 1: code = '', index }) => {
    const path = paths.findLast((mentionedFiles) => mentionedFiles.index < index)?.[1];
    return path === undefined || !/^(?:\/\/|import) /.test(code) ? [] : [[path, code] as const];
  });
  return new Map(files);
}

/** Inserts a line before the line that begins with `before`. */
function insert(file: string, before: string, line: string): void {
  const path = join(scratch, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(`\n${before}`);
  writeFileSync(path, text.replace(`\n${before}`, `\n${line}\n${before}`));
}

test('the example adapter of the guide compiles together with the lines that the reader adds to existing files', () => {
  for (const folder of ['config', 'machines', 'actors', 'libs'])
    cpSync(join(root, folder), join(scratch, folder), { recursive: true });
  for (const file of ['tsconfig.json', 'package.json']) cpSync(join(root, file), join(scratch, file));
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
  const files = filesOfReader();
  expect(files.size).toBe(6);
  for (const [path, code] of files) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    writeFileSync(join(scratch, path), code);
  }
  const types = 'config/resources/triggers/trigger-types.ts';
  insert(types, 'const types = {', "import { teamBoardType } from '../platforms/teamboard.ts';");
  insert(types, '  Manual: manualType,', '  TeamBoard: teamBoardType,');
  insert(
    'config/resources/triggers/trigger.ts',
    'export type ManualTrigger =',
    "export type TeamBoardTrigger = TriggerOfType<'TeamBoard'>;",
  );
  const adapters = 'actors/platforms/adapters.ts';
  insert(
    adapters,
    'export interface Adapters {',
    "import { teamBoardAdapter } from './teamboard/adapter.ts';",
  );
  insert(adapters, '    Manual: manualAdapter,', '    TeamBoard: teamBoardAdapter(maxBodyBytes),');
  const connector = [...files.keys()].filter((path) => path.endsWith('/connector.ts'));
  const project = { extends: './tsconfig.json', files: [adapters, ...connector], include: [] };
  writeFileSync(join(scratch, 'guide.json'), JSON.stringify(project));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'guide.json'], {
    cwd: scratch,
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, '']);
});
