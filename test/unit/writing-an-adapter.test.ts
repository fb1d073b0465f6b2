// The guide to new adapters names files and takes things from them: that they are there, and have those names; and that what it
// has written compiles where it says that it belongs.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/writing-an-adapter.md'), 'utf8');
/** What the reader is told to write. */
const isOwn = (path: string) => /teamboard|board-|-NAME/i.test(path);

test('each file that the guide to adapters names is there', () => {
  const named = [...guide.matchAll(/`((?:actors|config|machines|libs|test|docs|src)\/[\w./-]+)`/g)];
  const paths = named.map(([, path = '']) => path).filter((path) => !isOwn(path));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('what its examples import is exported where they say', () => {
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
        const wanted = names.split(',').map((name) => name.trim().replace(/^type /, ''));
        return (
          wanted
            // The trigger's type is what the reader adds to trigger.ts.
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

/** The members of an exported interface, by its source. */
function membersOf(file: string, name: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const [, body = ''] =
    new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:<]/gm)].map(([, member = '']) => member);
}

test.each([
  ['actors/platforms/adapter.ts', 'Adapter'],
  ['actors/events/inbound-event.ts', 'InboundEvent'],
  ['actors/platforms/adapter.ts', 'SourceHost'],
  ['actors/platforms/webhooks/webhook-table.ts', 'PathUse'],
  ['actors/platforms/connections/connector.ts', 'Connector'],
  ['actors/platforms/connections/connector.ts', 'OpenConnection'],
  ['actors/events/outbox/outbound.ts', 'Outbound'],
  ['actors/events/outbox/outbound.ts', 'SendContext'],
  ['actors/events/outbox/outbound-message.ts', 'OutboundTarget'],
  ['actors/events/outbox/outbound-message.ts', 'OutboundMessage'],
  ['actors/events/outbox/outbound-message.ts', 'Card'],
  ['actors/events/outbox/outbound-message.ts', 'CardAction'],
  ['actors/events/outbox/delivery-error.ts', 'DeliveryErrorOptions'],
  ['config/resources/triggers/trigger-type.ts', 'TriggerType'],
])('of %s every member of %s is in the guide', (file, name) => {
  const members = membersOf(file, name);
  expect(members.length).toBeGreaterThan(1);
  expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(guide))).toEqual([]);
});

const scratch = newFolder('guide-');

/** The files that the reader writes, by the path that was named last before each. */
function filesOfReader(): ReadonlyMap<string, string> {
  const paths = [...guide.matchAll(/`((?:config|actors)\/[\w./-]*teamboard[\w/-]*\.ts)`/g)];
  const files = [...guide.matchAll(/```ts\n(.*?)```/gs)].flatMap(({ 1: code = '', index }) => {
    const path = paths.findLast((named) => named.index < index)?.[1];
    return path === undefined || !/^(?:\/\/|import) /.test(code) ? [] : [[path, code] as const];
  });
  return new Map(files);
}

/** Before the line that begins so. */
function insert(file: string, before: string, line: string): void {
  const path = join(scratch, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(`\n${before}`);
  writeFileSync(path, text.replace(`\n${before}`, `\n${line}\n${before}`));
}

test('its adapter compiles, with the lines that it has the reader add', () => {
  for (const room of ['config', 'machines', 'actors', 'libs'])
    cpSync(join(root, room), join(scratch, room), { recursive: true });
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
