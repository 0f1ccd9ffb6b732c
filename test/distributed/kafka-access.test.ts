import { execFileSync } from 'node:child_process'
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alterUserScramCredentialsV0, Connection, ScramMechanisms } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOptions } from '../../services/platform/log/kafka/kafka-client.ts'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import {
  type KafkaAddress,
  kafkaAddress,
  type SaslMechanism,
} from '../../services/platform/log/kafka/kafka-settings.ts'
import { ensureTopics } from '../../services/platform/log/kafka/kafka-topics.ts'
import { recordTopic, type StoredMessage } from '../../services/platform/log/log.ts'
import { type Cluster, startCluster } from '../support/kafka/cluster.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'

const login =
  'org.apache.kafka.common.security.plain.PlainLoginModule required username="broker" password="b" user_broker="b" user_app="secret";'
const scramLogin = 'org.apache.kafka.common.security.scram.ScramLoginModule required;'
const plan = { prefix: '', partitions: 1, replicas: 1, minInSync: 1 }
const folder = mkdtempSync(join(tmpdir(), 'wattledger-access-'))
const [certificate, pair] = [join(folder, 'certificate.pem'), join(folder, 'pair.pem')]
let cluster: Cluster

describe.skipIf(skippedWithout('own broker') !== null)('brokers with TLS and SASL', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    const key = join(folder, 'key.pem')
    const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2']
    execFileSync('openssl', [...args, '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], {
      stdio: 'ignore',
    })
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
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
        'sasl.mechanism.inter.broker.protocol': 'PLAIN',
        'listener.name.plaintext.plain.sasl.jaas.config': login,
        'listener.name.plaintext.scram-sha-256.sasl.jaas.config': scramLogin,
        'listener.name.plaintext.scram-sha-512.sasl.jaas.config': scramLogin,
        ...stores,
      },
    })
  })
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const addressWith = (password: string, caFile: string | null, mechanism: SaslMechanism = 'PLAIN'): KafkaAddress =>
    kafkaAddress({
      brokers: cluster.brokers,
      prefix: '',
      tls: true,
      caFile,
      sessionTimeoutMs: 3_000,
      sasl: { mechanism, username: 'app', password },
    })

  /** Append a text and read the newest messages with a new group. */
  const throughLog = async (address: KafkaAddress, args: string): Promise<readonly string[]> => {
    await ensureTopics(address, plan)
    const log = await openKafkaLog({ address, now: () => Date.now() })
    const offset = await log.append(recordTopic, 0, { key: 'k', value: Buffer.from(args), headers: {} })
    const { promise, resolve } = Promise.withResolvers<readonly StoredMessage[]>()
    await log.subscribe(
      recordTopic,
      args.replaceAll(' ', '-'),
      assignment => void assignment.read({ maxMessages: offset + 1, maxBytes: 1_000 }).then(resolve),
    )
    const read = (await promise).map(({ value }) => value.toString())
    await log.close()
    return read.slice(-1)
  }

  /** Create a user with a salted password at the brokers. */
  const enrol = async (mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512', password: string): Promise<void> => {
    const [digest, length] = mechanism === 'SCRAM-SHA-256' ? (['sha256', 32] as const) : (['sha512', 64] as const)
    const [salt, iterations] = [randomBytes(16), 4_096]
    const saltedPassword = pbkdf2Sync(password, salt, iterations, length, digest)
    const [host = '', port = ''] = (cluster.brokers[0] ?? '').split(':')
    const connection = new Connection('test', clientOptions(addressWith('secret', certificate), 'enrol'))
    await connection.connect(host, Number(port))
    const user = {
      name: 'app',
      mechanism: ScramMechanisms[mechanism.replaceAll('-', '_') as keyof typeof ScramMechanisms],
    }
    await alterUserScramCredentialsV0.api.async(connection, [], [{ ...user, iterations, salt, saltedPassword }])
    await connection.close()
  }

  it('accept and return messages', async () => {
    expect(await throughLog(addressWith('secret', certificate), 'secret words')).toEqual(['secret words'])
  })

  it.each(['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
    'are written to and read from by %s, and refuse a wrong password',
    async mechanism => {
      await enrol(mechanism, 'salted')
      const args = `words by ${mechanism}`
      expect(await throughLog(addressWith('salted', certificate, mechanism), args)).toEqual([args])
      await expect(ensureTopics(addressWith('secret', certificate, mechanism), plan)).rejects.toMatchObject({
        code: 'log_away',
      })
    },
  )

  it('refuse a wrong password', async () => {
    await expect(ensureTopics(addressWith('wrong', certificate), plan)).rejects.toMatchObject({ code: 'log_away' })
  })

  it('are refused if their certificate is not trusted', async () => {
    await expect(ensureTopics(addressWith('secret', null), plan)).rejects.toMatchObject({ code: 'log_away' })
  })
})
