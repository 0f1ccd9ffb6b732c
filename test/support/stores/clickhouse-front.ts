import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'

/**
 * Treatment of the next calls: normal, an error of the engine, no answer, a late answer, a connection that ends within the answer, or one
 * that ends after the statement.
 */
export type EngineFault = 'well' | 'refuse' | 'hang' | 'slow' | 'cut' | 'cut after'

/** The embedded engine with the HTTP interface of a server. It runs the statements of the client. */
export type ClickHouseFront = AsyncDisposable & {
  readonly url: string
  fault: EngineFault
  /** The last statements, oldest first. */
  readonly statements: readonly string[]
  /** User and password of the last call. */
  readonly credentials: () => string
}

const slowMs = 300
const maxStatements = 1_000
const memoryLimitCode = 241
const formatClause = /(?<!\s)\s+FORMAT\s+(\w+)\s*$/

/** Data folder of the engine, and port of the front. A given folder is not removed. */
export type FrontOptions = { readonly folder?: string; readonly port?: number }

/** Open an engine with an HTTP front. The defaults are a temporary folder and a free port. */
export const openClickHouseFront = async (options: FrontOptions = {}): Promise<ClickHouseFront> => {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'wattledger-front-'))
  const engine = openChdb({ folder })
  const statements: string[] = []
  let credentials = ''
  const server = createServer((request, response) => {
    void answer(request, response).catch(error => response.destroy(error))
  })

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const inAddress = new URL(request.url ?? '/', 'http://front').searchParams.get('query')
    const sql = inAddress ?? body.toString()
    statements.push(sql)
    if (statements.length > maxStatements) statements.shift()
    credentials = Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString()
    const { fault } = front
    if (fault === 'hang') return
    if (fault === 'cut') return void response.destroy()
    if (fault === 'refuse') return fail(response, memoryLimitCode, 'memory limit exceeded')
    if (fault === 'slow') await sleep(slowMs)
    try {
      const bytes = await runStatement(engine, folder, sql, inAddress === null ? null : body)
      if (fault === 'cut after') response.destroy()
      else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes)
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const number =
        typeof cause === 'object' && cause !== null && 'clickhouseCode' in cause ? Number(cause.clickhouseCode) : 1001
      fail(response, number, error instanceof Error ? error.message : String(error))
    }
  }

  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', () => resolve()))
  const front: ClickHouseFront = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: 'well',
    statements,
    credentials: () => credentials,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await engine.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
  return front
}

const fail = (response: ServerResponse, number: number, message: string): void => {
  const text = `Code: ${number}. DB::Exception: ${message}. (SOME_ERROR) (version 0)`
  response.writeHead(500, { 'x-clickhouse-exception-code': String(number) }).end(text)
}

const runStatement = async (engine: ClickHouse, folder: string, sql: string, rows: Buffer | null): Promise<Buffer> => {
  const format = formatClause.exec(sql)?.[1]
  const statement = sql.replace(formatClause, '')
  if (rows !== null && rows.length > 0) {
    // The engine maps the file into memory, so that no other call may write to it.
    const file = join(folder, `${randomUUID()}.native`)
    await writeFile(file, rows)
    await engine.command(`${statement} SELECT * FROM file('${file}', 'Native')`)
    await rm(file)
    return Buffer.alloc(0)
  }
  if (format === 'Native')
    return Buffer.concat(await Array.fromAsync(engine.stream(statement), bytes => Buffer.from(bytes)))
  if (format === 'JSONCompactEachRow')
    return Buffer.from((await engine.rows(statement)).map(row => `${JSON.stringify(row)}\n`).join(''))
  if (format !== undefined) {
    const file = join(folder, randomUUID())
    await engine.command(`INSERT INTO FUNCTION file('${file}', '${format}') ${statement}`)
    const bytes = await readFile(file)
    await rm(file)
    return bytes
  }
  await engine.command(sql)
  return Buffer.alloc(0)
}
