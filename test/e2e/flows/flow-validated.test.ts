// Errors that `validate` finds in flow files before a run. Each has file, line and column.

import { mkdirSync, writeFileSync } from 'node:fs';
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

test('cycles, unknown names in expressions, unreachable nodes and non-boolean conditions are reported with their positions', async () => {
  const file = join(temporaryFolder(), 'bad.yaml');
  writeFileSync(file, text);
  const { code, stdout, stderr } = await runMain(['validate', '-f', file]);
  expect(code).toBe(2);
  const errors = `${stdout}${stderr}`
    .replaceAll(file, 'bad.yaml')
    .split('\n')
    .filter((line) => line.startsWith('bad.yaml'));
  expect(errors).toEqual([
    'bad.yaml:7:61: spec.nodes[0].config.set.n: there is no parameter verson; did you mean version?',
    'bad.yaml:8:57: spec.nodes[1].config.text: there is no node frist; did you mean first?',
    'bad.yaml:9:56: spec.nodes[2].config.text: unknown variable: stepz',
    'bad.yaml:10:13: spec.nodes[3].id: alone has no connections',
    'bad.yaml:11:27: spec.nodes[4].type: flows do not run programs: put it into a tool server, and use a Tool',
    'bad.yaml:13:40: spec.connections[0].when: returns int, expected bool',
    'bad.yaml:15:26: spec.connections[2].to: creates a cycle: first → second → third → first; use a Loop to repeat nodes',
  ]);
});

const urls = `apiVersion: example.com/v1
kind: Flow
metadata: { name: urls }
spec:
  parameters: [{ name: q }]
  nodes:
    - { id: a, type: HTTP, config: { url: "http://127.0.0.1{{ parameters.q }}/x" } }
    - { id: b, type: HTTP, config: { url: "{{ parameters.q }}" } }
    - { id: c, type: HTTP, config: { url: "{{ parameters.q }}", url_allow: [https://api.example.com] } }
    - { id: d, type: HTTP, config: { url: "https://api.example.com/{{ encode(parameters.q) }}", url_allow: [https://api.example.com/] } }
    - { id: e, type: HTTP, config: { url: "https://api.example.com/{{ parameters.q }}#{{ parameters.q }}" } }
    - { id: f, type: HTTP, config: { url: "{{ parameters.q }}", url_allow: [https://api.example.com/], allow_private: true } }
  connections: [{ from: a, to: b }, { from: b, to: c }, { from: c, to: d }, { from: d, to: e }, { from: e, to: f }]
`;

const urlProblems = [
  'flows/urls.yaml:7:60: spec.nodes[0].config.url: should begin with http:// or https:// and a host without {{ }}; or make the whole url one {{ }}, with url_allow',
  'flows/urls.yaml:8:44: spec.nodes[1].config.url: can lead to any host: list allowed prefixes, as url_allow: [https://api.example.com/], or write the host in the url',
  'flows/urls.yaml:9:77: spec.nodes[2].config.url_allow[0]: should end with /, as https://api.example.com/v1/',
  'flows/urls.yaml:10:68: warning: spec.nodes[3].config.url: would be encoded twice: remove encode(); urls encode values',
  'flows/urls.yaml:10:97: warning: spec.nodes[3].config.url_allow: has no effect: the url contains its host',
  'flows/urls.yaml:11:87: spec.nodes[4].config.url: follows #, which is not sent: write %23 to send a #',
];

test('validate and --check reject a URL whose host comes from a value', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'flows'));
  writeFileSync(join(folder, 'flows/urls.yaml'), urls);
  writeFileSync(join(folder, 'catalog.yaml'), 'servers: {}\n');
  writeFileSync(
    join(folder, 'gateway.yaml'),
    'listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\nspec: { flows: { directory: ./flows } }\n',
  );
  for (const args of [
    ['validate', '-f', join(folder, 'flows')],
    ['--config', join(folder, 'gateway.yaml'), '--check'],
  ]) {
    const { code, stdout, stderr } = await runMain(args);
    const printed = `${stdout}${stderr}`.replaceAll(`${folder}/`, '').split('\n');
    expect([code, printed.filter((line) => line.includes('urls.yaml:'))]).toEqual([2, urlProblems]);
  }
});
