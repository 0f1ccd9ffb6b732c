import { openLmdbLog } from '../../../../../services/platform/log/lmdb/lmdb-log.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'

// Appends to partition 0 forever. Writes each acknowledged offset with its text to standard output.
const [folder = '', round = '0'] = process.argv.slice(2)
const log = await openLmdbLog({ folder, now: () => Date.now() })
const write = async (writer: number): Promise<void> => {
  for (let i = 0; ; i += 1) {
    const text = `${round}-${writer}-${i}`
    const offset = await log.append(recordTopic, 0, {
      key: '',
      value: Buffer.from(text.padEnd(200 + (i % 9_000))),
      headers: {},
    })
    process.stdout.write(`${offset} ${text}\n`)
  }
}
await Promise.all([1, 2, 3, 4].map(write))
