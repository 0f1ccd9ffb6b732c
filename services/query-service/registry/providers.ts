import { providerList, providerToWire } from '../../contract/registry/provider.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { pageOfProviders } from '../../platform/postgres/registry/providers.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'

/** Bind the list of suppliers. All accounts see the same suppliers. */
export const providerOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(providerList, request => {
    const { country_code: country = null, postal_address_type: addressType = null } = request.query
    return answerList(
      dependencies,
      request,
      '/providers',
      (transaction, page) => pageOfProviders(transaction.query, { country, addressType }, page),
      providers =>
        providers.map(one =>
          providerToWire({ ...one, isDirect: one.direct !== null, liveMode: request.caller.liveMode }),
        ),
    )
  }),
]
