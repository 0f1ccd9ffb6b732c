import { localSchemaIds } from '../../../../../services/platform/log/avro/schema-ids.ts'
import { describeSchemaIds } from '../../../../suites/describe-schema-ids.ts'

describeSchemaIds('schema numbers without a registry', async () => ({ ids: localSchemaIds(), again: localSchemaIds }))
