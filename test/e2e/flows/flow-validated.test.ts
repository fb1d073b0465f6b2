// What `validate` finds in the file of a flow that would only show when it runs: with file, line and column.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const text = `apiVersion: example.com/v1
kind: Flow
metadata: { name: bad }
spec:
  parameters: [{ name: version }]
  nodes:
    - { id: first, type: Transform, config: { set: { n: "{{ parameters.verson }}" } } }
    - { id: second, type: Response, config: { text: "{{ steps.frist.output.n }}" } }
    - { id: third, type: Response, config: { text: "{{ stepz.first }}" } }
    - { id: alone, type: Response, config: { text: alone } }
    - { id: fourth, type: Script, config: {} }
  connections:
    - { from: first, to: second, when: "1 + 1" }
    - { from: second, to: third, when: "steps.third.state == 'done'" }
    - { from: third, to: first }
    - { from: third, to: fourth }
`;

test('cycles, unknown names within expressions, nodes that nothing leads to, and conditions of no boolean are told where they stand', async () => {
  const file = join(temporaryFolder(), 'bad.yaml');
  writeFileSync(file, text);
  const { code, stdout, stderr } = await runMain(['validate', '-f', file]);
  expect(code).toBe(2);
  const told = `${stdout}${stderr}`
    .replaceAll(file, 'bad.yaml')
    .split('\n')
    .filter((line) => line.startsWith('bad.yaml'));
  expect(told).toEqual([
    'bad.yaml:7:61: spec.nodes[0].config.set.n: there is no parameter verson; did you mean version?',
    'bad.yaml:8:57: spec.nodes[1].config.text: there is no node frist; did you mean first?',
    'bad.yaml:9:56: spec.nodes[2].config.text: unknown variable: stepz',
    'bad.yaml:10:13: spec.nodes[3].id: nothing leads to alone, and it leads nowhere',
    'bad.yaml:11:27: spec.nodes[4].type: programs are not run from flows: put it into a tool server, and write a Tool',
    'bad.yaml:13:40: spec.connections[0].when: gives int, and should give bool',
    'bad.yaml:15:26: spec.connections[2].to: leads back: first → second → third → first; what is to be done again stands in a Loop',
  ]);
});
