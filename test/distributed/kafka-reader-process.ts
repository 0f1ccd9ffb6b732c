import { createInterface } from 'node:readline'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { type Assignment, recordTopic } from '../../services/platform/log/log.ts'
import { plainAddress } from '../support/kafka/test-log.ts'

const [brokers = '', prefix = '', group = ''] = process.argv.slice(2)
const log = await openKafkaLog({ address: plainAddress(brokers.split(',')), prefix, now: () => Date.now() })
const assignments: Assignment[] = []
await log.subscribe(recordTopic, group, assignment => {
  assignments.push(assignment)
  if (assignment.partition === 0) void readFirst(assignment)
})

/** Read a message, print its offset, and commit it on request. */
const readFirst = async (assignment: Assignment): Promise<void> => {
  const [first] = await assignment.read({ maxMessages: 1, maxBytes: 1 })
  if (first === undefined) return
  process.stdout.write(`read ${first.offset}\n`)
  for await (const _line of createInterface({ input: process.stdin })) {
    const outcome = await assignment.commit(first.offset + 1).then(
      () => 'committed',
      error => String(error.code),
    )
    process.stdout.write(`${outcome}\n`)
  }
}
