import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { currentInstant } from '../../services/platform/clock.ts'
import { readConfig } from '../../services/platform/config/config.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { raiseTopicGeneration, readTopicGeneration } from '../../services/platform/postgres/topic-generation.ts'
import { openStores } from '../../services/stores.ts'
import { until } from '../support/system/until.ts'

it('a process refuses to write to any partition after the partitions were renumbered', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'wattledger-stores-')), path =>
    rmSync(path, { recursive: true }),
  )
  const { generation, database, log } = await openStores(
    readConfig({ WATTLEDGER_DATA_DIR: join(folder, 'data') }),
    stack,
    () => undefined,
  )
  const partitions = log.partitions(recordTopic)
  expect([generation(), await readTopicGeneration(database.operator, recordTopic)]).toEqual([
    0,
    { generation: 0, partitions },
  ])
  await raiseTopicGeneration(database.operator, recordTopic, 0, partitions, currentInstant())
  const reasonOf = async (): Promise<unknown> => {
    try {
      return generation()
    } catch (error) {
      return error
    }
  }
  expect(await until(reasonOf, reason => reason instanceof Error, 10_000)).toMatchObject({
    code: 'lanes_renumbered',
    retriable: true,
  })
})
