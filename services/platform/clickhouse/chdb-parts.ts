import { statfsSync } from 'node:fs'
import { currentInstant } from '../clock.ts'
import { textLiteral } from './encoding/literals.ts'

/** Free disk space that the engine leaves to other programs: it starts no insert and no merge with less. */
export const reservedBytes = 64 * 1_048_576

const checkIntervalMs = 10_000
/** The engine keeps the sources of a merge for 8 minutes. Until then, a corrupt part can be replaced by its sources. */
const mergeSourcesLifetimeMs = 480_000
/** Parts have times in whole seconds. */
const secondMs = 1_000

/** Error codes of a read that meets a corrupt part: its end, length, checksum or file is wrong. */
export const corruptionErrorCodes: ReadonlySet<number> = new Set([32, 33, 40, 107, 246])

type QueryRows = (sql: string) => Promise<readonly (readonly unknown[])[]>

export type PartGuardOptions = {
  readonly folder: string
  readonly rows: QueryRows
  /**
   * Load the parts of a table from disk again. Corrupt parts are set aside; the parts that they were merged from
   * return.
   */
  readonly reload: (table: string) => Promise<void>
  readonly log: (line: string) => void
}

export type PartGuard = {
  /** Return false if other programs use the reserved space. Rows that were written meanwhile may be corrupt. */
  readonly hasFreeSpace: () => boolean
  /** Check the recent parts soon, because a read met a corrupt part. Their sources still exist. */
  readonly reportCorruption: () => void
  readonly close: () => Promise<void>
}

/**
 * Detect and repair parts that a full disk corrupts. If the disk fills up while chDB 3.4.0 writes a part, chDB accepts
 * the part although ends of files are missing; for merges even with fsync. So the engine reserves space
 * (`reservedBytes`). If other programs use that space, the guard reads all parts of that time and replaces corrupt
 * parts by their sources. An insert of that time counts as failed, and its rows are inserted again.
 */
export const guardParts = ({ folder, rows, reload, log }: PartGuardOptions): PartGuard => {
  let lastIntactAt = currentInstant()
  let suspectSince: number | null = null
  let checking: Promise<void> | null = null
  const suspectFrom = (since: number): void => {
    suspectSince = Math.min(suspectSince ?? since, since)
  }
  const hasFreeSpace = (): boolean => {
    const { bavail, bsize } = statfsSync(folder)
    const hasSpace = bavail * bsize >= reservedBytes / 2
    if (!hasSpace) suspectFrom(lastIntactAt)
    return hasSpace
  }
  const checkParts = async (): Promise<void> => {
    const startedAt = currentInstant()
    const hadFreeSpace = hasFreeSpace()
    if (suspectSince !== null) {
      const since = suspectSince
      suspectSince = null
      await repairParts(since, { rows, reload, log }).catch(error => {
        suspectFrom(since)
        throw error
      })
    }
    lastIntactAt = startedAt
    if (!hadFreeSpace) suspectFrom(startedAt)
  }
  const checkOnce = (): void => {
    checking ??= checkParts()
      .catch(error => log(`Parts of the engine could not be checked: ${String(error)}`))
      .finally(() => {
        checking = null
      })
  }
  const timer = setInterval(checkOnce, checkIntervalMs)
  timer.unref()
  return {
    hasFreeSpace,
    reportCorruption: () => {
      suspectFrom(currentInstant() - mergeSourcesLifetimeMs)
      checkOnce()
    },
    close: async () => {
      clearInterval(timer)
      await checking
    },
  }
}

/** Check all parts since an instant, and replace the corrupt ones. */
const repairParts = async (
  since: number,
  { rows, reload, log }: Pick<PartGuardOptions, 'rows' | 'reload' | 'log'>,
): Promise<void> => {
  for (const [table, parts] of await findCorruptParts(since - secondMs, rows)) {
    log(
      `A full disk corrupted parts ${parts.join(', ')} of ${table}. They are moved to the folder "detached"; their sources are loaded again.`,
    )
    await reload(table)
  }
}

const findCorruptParts = async (since: number, rows: QueryRows): Promise<ReadonlyMap<string, readonly string[]>> => {
  const from = Math.floor(since / secondMs)
  const parts = await rows(
    `SELECT table, name FROM system.parts WHERE active AND database = currentDatabase() AND toUnixTimestamp(modification_time) >= ${from}`,
  )
  const corrupt = new Map<string, string[]>()
  for (const [table, name] of parts) {
    if (await isIntact(String(table), String(name), rows)) continue
    corrupt.set(String(table), [...(corrupt.get(String(table)) ?? []), String(name)])
  }
  return corrupt
}

/**
 * Return whether a part is intact. A part that was merged meanwhile still exists among the sources, and the merged part
 * is checked next time. Throws if the part no longer exists; the check then starts again.
 */
const isIntact = async (table: string, name: string, rows: QueryRows): Promise<boolean> => {
  const answers = await rows(
    `CHECK TABLE ${table} PART ${textLiteral(name)} SETTINGS check_query_single_value_result = 0`,
  )
  return answers.every(([part, passed]) => part !== name || Number(passed) === 1)
}
