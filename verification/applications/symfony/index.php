<?php

declare(strict_types=1);

// Symfony with Doctrine in one file, with Debian's packages, which have autoloaders of their own.
use Applock\HeldException;
use Applock\Leases;
use Applock\Locks;
use Applock\LostException;
use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\ORMSetup;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Doctrine/ORM/autoload.php';
require_once getenv('AUTOLOAD');

#[ORM\Entity, ORM\Table(name: 'customer')]
class Customer
{
    #[ORM\Column]
    public string $name = '';
    #[ORM\Column]
    public int $saves = 0;

    public function __construct(#[ORM\Id, ORM\Column(length: 20)] public string $id)
    {
    }
}

class Undo extends Exception
{
}

class Application extends Kernel
{
    use MicroKernelTrait;

    private array $where;
    private EntityManager $entities;
    /** The locks on Doctrine's connection, and so in its transaction. */
    private Locks $locks;

    public function boot(): void
    {
        parent::boot();
        $this->where = ['url' => preg_replace('/^postgresql/', 'pdo-pgsql', preg_replace('/^mysql/', 'pdo-mysql', getenv('DATABASE_URL')))];
        $mapping = ORMSetup::createAttributeMetadataConfiguration([__DIR__], true, $this->getCacheDir());
        $this->entities = EntityManager::create($this->where, $mapping);
        $this->locks = new Locks($this->entities->getConnection()->getNativeConnection());
    }

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    public function getProjectDir(): string
    {
        return getenv('APPLICATION_FOLDER');
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'of an application that is played only', 'http_method_override' => false]);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('lock', '/lock/{id}')->controller('kernel::lock')->methods(['POST']);
        $routes->add('save', '/save/{id}')->controller('kernel::save')->methods(['PUT']);
        $routes->add('rollback', '/rollback/{id}')->controller('kernel::rollback')->methods(['POST']);
        $routes->add('work', '/work/{id}')->controller('kernel::work')->methods(['POST']);
        $routes->add('list', '/list')->controller('kernel::list')->methods(['GET']);
    }

    public function lock(string $id, Request $request): Response
    {
        $lock = $this->locks->get('customer', $id, $request->query->get('operator'), ttl: 3 * 24 * 3600);
        $answer = ['granted' => $lock->granted, 'expires' => $lock->expiresAt->format(DATE_RFC3339_EXTENDED)];
        return $lock->granted
            ? new JsonResponse([...$answer, 'fence' => $lock->fence])
            : new JsonResponse([...$answer, 'holder' => $lock->holder->operator], Response::HTTP_CONFLICT);
    }

    public function save(string $id, Request $request): Response
    {
        try {
            $customer = $this->entities->wrapInTransaction(function () use ($id, $request): Customer {
                $this->locks->serialize('customer', $id);
                $customer = $this->entities->find(Customer::class, $id) ?? new Customer($id);
                $customer->name = $request->query->get('name');
                $customer->saves++;
                $this->entities->persist($customer);
                $this->entities->flush();
                $this->locks->assert('customer', $id, $request->query->get('operator'), $request->query->getInt('fence'));
                return $customer;
            });
        } catch (LostException) {
            return new JsonResponse(['granted' => false], Response::HTTP_CONFLICT);
        }
        return new JsonResponse(['granted' => true, 'saves' => $customer->saves]);
    }

    public function rollback(string $id, Request $request): Response
    {
        $operator = $request->query->get('operator');
        $taken = $refused = null;
        try {
            $this->entities->wrapInTransaction(function () use ($id, $operator, $request, &$taken, &$refused): void {
                $customer = $this->entities->find(Customer::class, $id);
                $customer->saves++;
                $this->entities->flush();
                $taken = $this->locks->get('invoice', $id, $operator);
                $refused = $this->locks->get('customer', $id, $operator);
                $customer->saves++;
                $this->entities->flush();
                if ($request->query->get('end') === 'rollback') {
                    throw new Undo();
                }
            });
        } catch (Undo) {
        }
        return new JsonResponse(['granted' => $taken->granted, 'holder' => $refused->holder->operator]);
    }

    public function work(string $id, Request $request): Response
    {
        $leases = new Leases(fn () => DriverManager::getConnection($this->where)->getNativeConnection());
        try {
            $lease = $leases->acquire('job', $id, ttl: $request->query->getInt('ttl'));
        } catch (HeldException $held) {
            return new JsonResponse(['granted' => false, 'holder' => $held->answer->holder->operator], Response::HTTP_CONFLICT);
        }
        return new StreamedResponse(function () use ($id, $lease): void {
            $say = function (array $line): void {
                echo json_encode($line), "\n";
                flush();
            };
            $say(['pid' => getmypid(), 'operator' => $lease->operator, 'fence' => $lease->fence]);
            $customer = $this->entities->find(Customer::class, $id);
            while ($customer->name !== 'done') {
                $lease->check();
                usleep(200_000);
                $this->entities->refresh($customer);
            }
            $lease->release();
            $say(['done' => true]);
        });
    }

    public function list(): Response
    {
        $live = str_starts_with($this->where['url'], 'pdo-mysql') ? 'appl_lock_live' : 'applock.appl_lock_live';
        return new JsonResponse($this->entities->getConnection()->fetchAllAssociative("
            SELECT c.id, c.name, l.operator_id AS operator
            FROM customer AS c LEFT JOIN $live AS l ON l.object_type = 'customer' AND l.object_id = c.id
            ORDER BY c.id"));
    }
}

$kernel = new Application('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
