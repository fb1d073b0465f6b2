// Stores the session's newest screenshots by name, bounded in number and bytes.

const MAX_SHOTS = 50;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

export interface Screenshot {
  readonly name: string;
  readonly mimeType: 'image/png' | 'image/jpeg';
  readonly data: Buffer;
  /** Image width in pixels. */
  readonly width: number;
  readonly height: number;
  readonly pageUrl: string;
  readonly at: Date;
}

export class Screenshots {
  /** Oldest first. */
  readonly #shots = new Map<string, Screenshot>();
  #bytes = 0;

  /** Stores a screenshot, and replaces one with the same name. Returns the names of removed screenshots. */
  add(shot: Screenshot): string[] {
    this.#remove(shot.name);
    this.#shots.set(shot.name, shot);
    this.#bytes += shot.data.length;
    const removedNames: string[] = [];
    for (const name of this.#shots.keys()) {
      if (this.#shots.size <= MAX_SHOTS && this.#bytes <= MAX_TOTAL_BYTES) break;
      this.#remove(name);
      removedNames.push(name);
    }
    return removedNames;
  }

  get(name: string): Screenshot | undefined {
    return this.#shots.get(name);
  }

  has(name: string): boolean {
    return this.#shots.has(name);
  }

  list(): readonly Screenshot[] {
    return [...this.#shots.values()];
  }

  #remove(name: string): void {
    const old = this.#shots.get(name);
    if (old === undefined) return;
    this.#bytes -= old.data.length;
    this.#shots.delete(name);
  }
}

export function screenshotUri(name: string): string {
  return `screenshot://${encodeURIComponent(name)}`;
}
