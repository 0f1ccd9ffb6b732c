import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KafkaAddress } from '../../services/platform/log/kafka/kafka-client.ts'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { kafkaAddress } from '../../services/platform/log/kafka/kafka-settings.ts'
import { ensureTopics } from '../../services/platform/log/kafka/kafka-topics.ts'
import type { StoredMessage } from '../../services/platform/log/log.ts'
import { type Cluster, startCluster } from '../support/kafka/cluster.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'

const login =
  'org.apache.kafka.common.security.plain.PlainLoginModule required username="broker" password="b" user_broker="b" user_app="secret";'
const plan = { prefix: '', partitions: 1, replicas: 1, minInSync: 1 }
const folder = mkdtempSync(join(tmpdir(), 'wattledger-access-'))
const [certificate, pair] = [join(folder, 'certificate.pem'), join(folder, 'pair.pem')]
let cluster: Cluster

describe.skipIf(skippedWithout('own broker') !== null)('brokers behind TLS and a login', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    const key = join(folder, 'key.pem')
    const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2']
    execFileSync('openssl', [...words, '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' })
    writeFileSync(pair, readFileSync(key, 'utf8') + readFileSync(certificate, 'utf8'))
    const stores = {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': pair,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': certificate,
    }
    cluster = await startCluster({
      nodes: 1,
      settings: {
        'listener.security.protocol.map': 'PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT',
        'inter.broker.listener.name': 'PLAINTEXT',
        'sasl.enabled.mechanisms': 'PLAIN',
        'sasl.mechanism.inter.broker.protocol': 'PLAIN',
        'listener.name.plaintext.plain.sasl.jaas.config': login,
        ...stores,
      },
    })
  })
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const addressWith = (password: string, caFile: string | null): KafkaAddress =>
    kafkaAddress({
      ...{ brokers: cluster.brokers, prefix: '', tls: true, caFile, sessionMs: 3_000 },
      sasl: { mechanism: 'PLAIN', username: 'app', password },
    })

  it('are written to and read from', async () => {
    const address = addressWith('secret', certificate)
    await ensureTopics(address, plan)
    const log = await openKafkaLog({ address, now: () => Date.now() })
    await log.append('meter.records.v1', 0, { key: 'k', value: Buffer.from('secret words'), headers: {} })
    const { promise, resolve } = Promise.withResolvers<readonly StoredMessage[]>()
    await log.subscribe('meter.records.v1', 'reader', lane => void lane.read({ maxMessages: 1, maxBytes: 1 }).then(resolve))
    expect((await promise).map(({ value }) => value.toString())).toEqual(['secret words'])
    await log.close()
  })

  it('refuse a wrong password', async () => {
    await expect(ensureTopics(addressWith('wrong', certificate), plan)).rejects.toMatchObject({ code: 'log_away' })
  })

  it('are refused with a certificate that nobody vouches for', async () => {
    await expect(ensureTopics(addressWith('secret', null), plan)).rejects.toMatchObject({ code: 'log_away' })
  })
})
