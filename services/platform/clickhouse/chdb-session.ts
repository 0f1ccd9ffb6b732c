import type { Session } from 'chdb'
import { maxStatementBytes } from './clickhouse.ts'

/** Format of an answer. Commands have no answer. */
type AnswerFormat = 'Native' | 'JSONCompactEachRow'

/** Answer of a statement. */
type Answer = { readonly text: () => string; readonly bytes: () => Uint8Array }

/** Connection to the embedded engine. It runs one statement at a time. */
export type EngineSession = {
  readonly query: (sql: string, format?: AnswerFormat) => Promise<Answer>
  /** Read an answer in the Native format, block by block. Leaving the loop ends the read. */
  readonly stream: (sql: string) => AsyncIterable<Buffer>
  readonly close: () => void
}

/** Statement with a known answer. */
const probe = 'SELECT 1'
const probeAnswer = '1\n'
/** The first probe receives the left output, the second one shows that nothing is left. */
const maxProbes = 4

export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/**
 * Create a session that gives each statement only its own rows. The engine does not discard the output of a statement
 * that fails after its first rows: it adds this output to the next answer of the session. So after a failure, the
 * session discards it before the next statement. Statements have at most `maxStatementBytes`.
 */
export const createEngineSession = (session: Session): EngineSession => {
  session.query(`SET max_query_size=${maxStatementBytes}`)
  let hasOldOutput = false
  const discardOutput = async (): Promise<void> => {
    for (let probes = 0; hasOldOutput; probes += 1) {
      if (probes === maxProbes) throw new Error('The engine returned rows of a failed statement.')
      const answer = bufferOf((await session.queryAsync(probe, { format: 'CSV' })).bytes())
      hasOldOutput = answer.toString('latin1', 0, probeAnswer.length + 1) !== probeAnswer
    }
  }
  return {
    query: async (sql, format) => {
      await discardOutput()
      try {
        return await session.queryAsync(sql, format === undefined ? {} : { format })
      } catch (error) {
        hasOldOutput = true
        throw error
      }
    },
    stream: async function* (sql) {
      await discardOutput()
      try {
        for await (const chunk of session.queryStream(sql, { format: 'Native' })) yield bufferOf(chunk.raw())
      } catch (error) {
        hasOldOutput = true
        throw error
      }
    },
    close: () => session.close(),
  }
}
