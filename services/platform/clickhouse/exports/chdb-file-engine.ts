import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Session } from 'chdb'
import { createFolder } from '../../create-folder.ts'
import { createEngineSession, type EngineSession } from '../chdb-session.ts'
import { linesOf } from '../clickhouse.ts'
import { textLiteral } from '../encoding/literals.ts'
import { type EngineFile, engineFormats, type FileEngine, fileSettings } from './engine-file.ts'

/** Sessions of files: one stays free for short answers while the other writes a large file. */
const maxSessions = 2
/** Interval in ms in which a cancelled statement is ended again, in case it had not begun. */
const cancelIntervalMs = 250

type FileSession = { readonly session: EngineSession; last: Promise<unknown>; waiting: number }

/** File engine that also releases its sessions. */
export type ChdbFileEngine = FileEngine & { readonly close: () => Promise<void> }

/** `openSession`: opens a session of the engine, called at the first use. `failureOf`: translates errors. */
export type ChdbFileOptions = {
  readonly openSession: () => EngineSession
  readonly failureOf: (error: unknown) => unknown
}

/**
 * Create the file engine of an embedded engine. It has its own sessions, so that a long export delays no read. A session
 * runs one statement at a time. A cancelled statement ends with `KILL QUERY`, because the package cannot interrupt a
 * statement.
 */
export const chdbFileEngine = ({ openSession, failureOf }: ChdbFileOptions): ChdbFileEngine => {
  const sessions: FileSession[] = []
  let control: EngineSession | null = null
  const openAll = (): void => {
    control ??= openSession()
    while (sessions.length < maxSessions) sessions.push({ session: openSession(), last: Promise.resolve(), waiting: 0 })
  }
  const idlest = (): FileSession => {
    openAll()
    return sessions.reduce((best, one) => (one.waiting < best.waiting ? one : best))
  }
  const kill = async (label: string, isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      await control?.query(`KILL QUERY WHERE Settings['log_comment'] = ${textLiteral(label)} ASYNC`)
      await sleep(cancelIntervalMs)
    }
  }
  /** Run a statement that has `label` as its comment. */
  const run = async <T>(
    label: string,
    signal: AbortSignal,
    work: (session: EngineSession) => Promise<T>,
  ): Promise<T> => {
    const chosen = idlest()
    chosen.waiting += 1
    const before = chosen.last
    let isOver = false
    const cancel = (): void => void kill(label, () => isOver).catch(() => undefined)
    const done = (async () => {
      await before
      signal.throwIfAborted()
      signal.addEventListener('abort', cancel, { once: true })
      return work(chosen.session)
    })()
    chosen.last = done.catch(() => undefined)
    try {
      return await done
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error)
    } finally {
      isOver = true
      chosen.waiting -= 1
      signal.removeEventListener('abort', cancel)
    }
  }
  return {
    write: (select, file, signal) => {
      const label = randomUUID()
      return run(label, signal, async session => void (await session.query(insertStatement(select, file, label))))
    },
    rows: (select, signal) => {
      const label = randomUUID()
      const sql = `${select} SETTINGS ${fileSettings('parquet')}, log_comment=${textLiteral(label)}`
      return run(label, signal, async session => {
        const answer = await session.query(sql, 'JSONCompactEachRow')
        return linesOf(answer.text()).map(line => JSON.parse(line) as readonly unknown[])
      })
    },
    close: async () => {
      for (const { session, last } of sessions) {
        await last
        session.close()
      }
      control?.close()
    },
  }
}

const insertStatement = (select: string, { path, format }: EngineFile, label: string): string =>
  `INSERT INTO FUNCTION file(${textLiteral(path)}, '${engineFormats[format]}')
  ${select} SETTINGS ${fileSettings(format)}, log_comment=${textLiteral(label)}`

/**
 * Open a file engine without tables, in a folder that is removed at the end. A process whose tables are on a server uses
 * this engine for its own files.
 */
export const openLocalFileEngine = (failureOf: ChdbFileOptions['failureOf']): ChdbFileEngine => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-files-'))
  createFolder(folder, 0o700)
  const engine = chdbFileEngine({ openSession: () => createEngineSession(new Session(folder)), failureOf })
  return {
    ...engine,
    close: async () => {
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
