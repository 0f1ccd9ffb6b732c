import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { artefacts, ensureArtefact } from './artefacts.ts'
import { javaFlags } from './java-process.ts'

/** Write the program of Kafka that changes consumer groups, under the name of its distribution. */
const writeCommand = (folder: string): void => {
  const command = join(folder, 'bin/kafka-consumer-groups.sh')
  const flags = `${javaFlags.join(' ')} -cp '${join(folder, 'lib', '*')}'`
  mkdirSync(join(folder, 'bin'))
  writeFileSync(
    command,
    `#!/bin/sh\nexec java ${flags} org.apache.kafka.tools.consumer.group.ConsumerGroupCommand "$@"\n`,
  )
  chmodSync(command, 0o755)
}

/** Return the folder of `kafka-consumer-groups.sh`. */
export const ensureKafkaCommands = async (): Promise<string> =>
  join(await ensureArtefact(artefacts.tools, async folder => writeCommand(folder)), 'bin')
