import { resolve } from 'node:path';

import { ROOT } from '../../lab/processes/program.js';

const given = process.env['LEASEHOLD_TARBALL'] ?? '';

/**
 * The packed library that the environment names: a release publishes the very file that was tested. Without it, the tests
 * of the package pack the checkout.
 */
export const givenTarball: string | undefined = given === '' ? undefined : resolve(ROOT, given);
