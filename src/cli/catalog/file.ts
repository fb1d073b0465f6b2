// Changes a catalog file for commands such as `servers add`. The new content is checked as by a starting
// gateway, and written only if it has no errors. Secrets are written to `.env` first. The catalog can also be
// a client's file: the settings of an MCP client, with a list of servers.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { checkCatalog } from '../../../config/catalog/check-catalog.ts';
import { type CatalogEdit, editCatalog, serverNames } from '../../../config/catalog/edit-catalog.ts';
import { plainId } from '../../../config/catalog/read-catalog.ts';
import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/client.ts';
import { hintFor } from '../api/unknown-name.ts';
import { EnvDraft } from './env-draft.ts';
import type { CatalogLocation } from './location.ts';
import { ConcurrentChange, readText, replaceText } from './replace-text.ts';

const SECRET_MODE = 0o600;
/** Maximum number of attempts if other processes keep changing the file. */
const MAX_ATTEMPTS = 10;

export class CatalogFile {
  readonly location: CatalogLocation;
  /** New variables for `.env`. */
  readonly draft: EnvDraft;
  #text: string;

  private constructor(location: CatalogLocation, text: string, draft: EnvDraft) {
    this.location = location;
    this.draft = draft;
    this.#text = text;
  }

  /** Reads the catalog; a missing file counts as empty. Throws ApiProblem if it cannot be read. */
  static async open(location: CatalogLocation): Promise<CatalogFile> {
    const [text, env] = await Promise.all([readText(location.catalogPath), readText(location.envPath)]);
    return new CatalogFile(location, text, new EnvDraft(env, location.environment));
  }

  get names(): readonly string[] {
    return serverNames(this.#text, this.location.catalogPath);
  }

  /**
   * Returns a server's name in the file. In a client's file the name can differ from the id, because there
   * names need not be valid ids. Throws ApiProblem if the server is unknown.
   */
  nameOf(id: string): string {
    const name = this.names.find((each) => each === id) ?? this.names.find((each) => plainId(each) === id);
    if (name !== undefined) return name;
    const hint = hintFor(id, this.names);
    throw new ApiProblem(`${this.location.catalogPath} has no server ${JSON.stringify(id)}; ${hint}`);
  }

  /** Throws ApiProblem if the server already exists and `isReplacing` is false. */
  refuseDuplicate(name: string, isReplacing: boolean): void {
    if (isReplacing || !this.names.includes(name)) return;
    const { catalogPath } = this.location;
    throw new ApiProblem(
      `${catalogPath} already has a server ${name}; add --force to replace it, or use another name`,
    );
  }

  /**
   * Writes the change. Returns false if the file already has this content. Throws ApiProblem or ConfigError
   * without changing the file.
   */
  async change(edit: CatalogEdit): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#changeOnce(edit);
      } catch (error) {
        if (!(error instanceof ConcurrentChange) || attempt === MAX_ATTEMPTS) throw error;
        this.#text = await readText(this.location.catalogPath);
        if (!this.draft.rebase(await readText(this.location.envPath))) throw error;
      }
    }
  }

  async #changeOnce(edit: CatalogEdit): Promise<boolean> {
    const { catalogPath, envPath } = this.location;
    const newText = editCatalog(this.#text, edit, catalogPath);
    if (typeof newText !== 'string') throw new ApiProblem(`${catalogPath}: ${newText.refusal}`);
    const { problems, catalog } = checkCatalog(new SourceFile(catalogPath, newText), this.draft.environment);
    if (hasError(problems)) throw new ConfigError(problems);
    // In a client's file, an invalid entry is skipped with a warning.
    if (edit.do === 'add' && catalog.servers[edit.name] === undefined)
      throw new ConfigError(problems.map((problem) => ({ ...problem, severity: 'error' })));
    if (edit.do === 'switch') this.#refuseOverruled(edit, catalog);
    const { originalText, text } = this.draft;
    if (text !== originalText) await replaceText(envPath, originalText, text, SECRET_MODE);
    if (newText === this.#text) return false;
    await replaceText(catalogPath, this.#text, newText);
    return true;
  }

  /**
   * Throws ApiProblem if the change has no effect, because other lists in a client's file take precedence.
   */
  #refuseOverruled({ name, isEnabled }: Extract<CatalogEdit, { do: 'switch' }>, { servers }: Catalog): void {
    const server = servers[name] ?? servers[plainId(name)];
    if (server === undefined || server.enabled === isEnabled) return;
    const lists = 'mcp.excluded, mcp.allowed, excludeMCPServers or allowMCPServers';
    throw new ApiProblem(
      `${this.location.catalogPath} disables servers in another list; edit it by hand: ${lists}`,
    );
  }
}
