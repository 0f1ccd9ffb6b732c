import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { readConfig } from '../../services/platform/config/config.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { openLog } from '../../services/stores.ts'
import { makeTestFolder } from '../support/stores/postgres.ts'

const mebibyte = 1_048_576
const folder = makeTestFolder()
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('WATTLEDGER_LOG_MAX_GIB limits the embedded log, in equal parts for its partitions', async () => {
  mkdirSync(join(folder, 'log'))
  const config = readConfig({
    WATTLEDGER_DATA_DIR: folder,
    WATTLEDGER_LOG_MAX_GIB: '1',
    WATTLEDGER_LOG_PARTITIONS: '1024',
  })
  await using stack = new AsyncDisposableStack()
  const log = await openLog(config, stack, () => undefined)
  await log.subscribe(recordTopic, 'cost-worker', () => undefined)
  const append = () => log.append(recordTopic, 0, { key: 'k', value: Buffer.alloc(100_000), headers: {} })
  // 1 GiB / 1,024 partitions = 1 MiB each: ten messages of 100,000 bytes fit, eleven do not.
  for (let count = 1; count <= Math.floor(mebibyte / 101_000); count += 1) await append()
  await expect(append().then(append)).rejects.toMatchObject({ code: 'log_full' })
})
