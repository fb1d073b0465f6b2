// The guide to new adapters names files and takes things from them: that they are there, and have those names.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/writing-an-adapter.md'), 'utf8');
/** What the reader is told to write. */
const isOwn = (path: string) => /teamboard|board-|-NAME/i.test(path);

test('each file that the guide to adapters names is there', () => {
  const named = [...guide.matchAll(/`((?:actors|config|machines|rest|test|docs|src)\/[\w./-]+)`/g)];
  const paths = named.map(([, path = '']) => path).filter((path) => !isOwn(path));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('what its examples import is exported where they say', () => {
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const folders = [
    'config/resources/types',
    ...Array<string>(blocks.length - 1).fill('actors/sources/teamboard'),
  ];
  const missing = blocks.flatMap((code, at) =>
    [...code.matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']+)'/g)].flatMap(
      ([, names = '', from = '']) => {
        const file = join(root, folders[at] ?? '', from);
        if (isOwn(from)) return [];
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
  ['actors/sources/adapter.ts', 'Adapter'],
  ['actors/sources/adapter.ts', 'InboundEvent'],
  ['actors/sources/adapter.ts', 'SourceHost'],
  ['actors/sources/webhook-table.ts', 'PathUse'],
  ['actors/connections/connector.ts', 'Connector'],
  ['actors/connections/connector.ts', 'OpenConnection'],
  ['actors/outbound/outbound.ts', 'Outbound'],
  ['actors/outbound/outbound.ts', 'SendContext'],
  ['actors/outbound/outbound-message.ts', 'OutboundTarget'],
  ['actors/outbound/outbound-message.ts', 'OutboundMessage'],
  ['actors/outbound/outbound-message.ts', 'Card'],
  ['actors/outbound/outbound-message.ts', 'CardAction'],
  ['actors/outbound/delivery-error.ts', 'DeliveryErrorOptions'],
  ['config/resources/triggers/trigger-type.ts', 'TriggerType'],
])('of %s every member of %s is in the guide', (file, name) => {
  const members = membersOf(file, name);
  expect(members.length).toBeGreaterThan(1);
  expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(guide))).toEqual([]);
});
