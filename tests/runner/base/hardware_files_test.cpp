// The hardware of a node, read from made-up trees of /proc, /sys and udev's records.
#include "runner/base/hardware_files.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "temporary_directory.h"

namespace base {
namespace {

using Json = nlohmann::json;

constexpr char kCpu[] = "sys/devices/system/cpu/";

void write_sockets(const TemporaryDirectory& root, int sockets) {
  for (int i = 0; i < sockets; ++i) {
    root.write(kCpu + ("cpu" + std::to_string(i)) + "/topology/physical_package_id",
               std::to_string(i) + "\n");
  }
}

TEST(HardwareFiles, GiveNullForEveryFactThatCannotBeRead) {
  const TemporaryDirectory root;
  const Json facts = hardware_file_facts(root.path());
  EXPECT_EQ(facts.size(), 12U);
  for (const auto& [name, value] : facts.items()) EXPECT_TRUE(value.is_null()) << name;
}

TEST(HardwareFiles, TellBaseAndHighestFrequencyWhereBothAreKnown) {
  const TemporaryDirectory root;
  root.write("proc/cpuinfo", "model name\t: Own CPU @ 2.10GHz\ncpu MHz\t\t: 2445.404\n");
  EXPECT_EQ(hardware_file_facts(root.path())["frequency"], "2.10GHz");
  root.write("proc/cpuinfo", "model name\t: Own CPU\ncpu MHz\t\t: 2445.404\n");
  EXPECT_EQ(hardware_file_facts(root.path())["frequency"], "2.45 GHz (as measured)");
  root.write(std::string(kCpu) + "cpu0/cpufreq/cpuinfo_max_freq", "3400000\n");
  EXPECT_EQ(hardware_file_facts(root.path())["frequency"], "3.40 GHz");
  root.write(std::string(kCpu) + "cpu0/cpufreq/base_frequency", "2100000\n");
  EXPECT_EQ(hardware_file_facts(root.path())["frequency"], "2.10 GHz base, 3.40 GHz highest");
}

TEST(HardwareFiles, NameWhatJoinsSocketsOnlyWhereThereAreSeveral) {
  const TemporaryDirectory root;
  root.write("sys/bus/event_source/devices/uncore_upi_0/type", "40\n");
  write_sockets(root, 1);
  EXPECT_TRUE(hardware_file_facts(root.path())["interconnect"].is_null());
  write_sockets(root, 2);
  EXPECT_EQ(hardware_file_facts(root.path())["interconnect"], "UPI");
}

TEST(HardwareFiles, KnowThatSocketsOfZenAreJoinedByInfinityFabric) {
  const TemporaryDirectory root;
  write_sockets(root, 2);
  root.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n");
  EXPECT_EQ(hardware_file_facts(root.path())["interconnect"], "Infinity Fabric");
  root.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 21\n");
  EXPECT_TRUE(hardware_file_facts(root.path())["interconnect"].is_null());
}

TEST(HardwareFiles, ReadMemoryModulesFromUdevWithoutTheirSerialNumbers) {
  const TemporaryDirectory root;
  std::string records = "I:1\nE:MEMORY_ARRAY_NUM_DEVICES=3\n";
  for (const char* slot : {"0", "10"}) {
    const std::string device = std::string("E:MEMORY_DEVICE_") + slot + "_";
    records += device + "SIZE=34359738368\n" + device + "TYPE=DDR4\n" + device +
               "SPEED_MTS=3200\n" + device + "CONFIGURED_SPEED_MTS=2933\n" + device +
               "SERIAL_NUMBER=S3CRET\n";
  }
  records += "E:MEMORY_DEVICE_2_PRESENT=0\nE:MEMORY_DEVICE_2_TYPE=Unknown\n";
  root.write("run/udev/data/+dmi:id", records);
  // EDAC lists the same modules that udev has already listed.
  root.write("sys/devices/system/edac/mc/mc0/dimm0/size", "1024\n");
  const Json facts = hardware_file_facts(root.path());
  EXPECT_EQ(facts["memory_modules"], "2x 32.0 GiB DDR4-3200 at 2933 MT/s");
  EXPECT_EQ(facts["installed_memory_bytes"], 2 * 34359738368);
  EXPECT_EQ(facts.dump().find("S3CRET"), std::string::npos);
}

TEST(HardwareFiles, ReadMemoryModulesFromEdacWhereUdevHasNone) {
  const TemporaryDirectory root;
  for (const char* dimm : {"mc0/dimm0", "mc0/dimm1", "mc1/dimm0"}) {
    const std::string folder = std::string("sys/devices/system/edac/mc/") + dimm;
    root.write(folder + "/size", "16384\n");
    root.write(folder + "/dimm_mem_type", "Registered-DDR4\n");
  }
  root.write("sys/devices/system/edac/mc/mc1/dimm1/size", "0\n");
  const Json facts = hardware_file_facts(root.path());
  EXPECT_EQ(facts["memory_modules"], "3x 16.0 GiB Registered-DDR4");
  EXPECT_EQ(facts["installed_memory_bytes"], std::int64_t{3} << 34);
}

TEST(HardwareFiles, CountDisksOfTheNodeAndNotWhatTheKernelMakesUp) {
  const TemporaryDirectory root;
  const auto disk = [&](const std::string& name, const std::string& sectors) {
    root.write("sys/block/" + name + "/size", sectors + "\n");
    root.write("sys/block/" + name + "/device/x", "");
  };
  disk("nvme0n1", "2097152");
  disk("nvme1n1", "2097152");
  disk("sda", "4194304");
  root.write("sys/block/sda/queue/rotational", "1\n");
  disk("sdb", "2097152");
  root.write("sys/block/sdb/removable", "1\n");
  root.write("sys/block/loop0/size", "2097152\n");
  const Json facts = hardware_file_facts(root.path());
  EXPECT_EQ(facts["storage_type"], "2x NVMe, 1x disk");
  EXPECT_EQ(facts["storage_bytes"], std::int64_t{4} << 30);
}

TEST(HardwareFiles, GroupLinksByKindAndRate) {
  const TemporaryDirectory root;
  const auto interface = [&](const std::string& name, const std::string& speed) {
    root.write("sys/class/net/" + name + "/speed", speed + "\n");
    root.write("sys/class/net/" + name + "/device/x", "");
  };
  interface("eth0", "25000");
  interface("eth1", "25000");
  interface("eth2", "-1");
  interface("eth3", "100");
  interface("ib0", "200000");
  root.write("sys/class/net/ib0/type", "32\n");
  root.write("sys/class/net/veth0/speed", "10000\n");
  const auto port = [&](const std::string& adapter, const std::string& layer,
                        const std::string& state) {
    const std::string folder = "sys/class/infiniband/" + adapter + "/ports/1/";
    root.write(folder + "rate", "200 Gb/sec (4X HDR)\n");
    root.write(folder + "link_layer", layer + "\n");
    root.write(folder + "state", state + "\n");
  };
  port("mlx5_0", "InfiniBand", "4: ACTIVE");
  port("mlx5_1", "InfiniBand", "1: DOWN");
  port("mlx5_2", "Ethernet", "4: ACTIVE");
  port("hfi1_0", "InfiniBand", "4: ACTIVE");
  EXPECT_EQ(hardware_file_facts(root.path())["network"],
            "1x Ethernet 100 Mb/s, 2x Ethernet 25 Gb/s, 1x InfiniBand 200 Gb/sec (4X HDR), 1x "
            "Omni-Path 200 Gb/sec (4X HDR)");
}

TEST(HardwareFiles, TellProductFirmwareAndWhetherTheMachineIsVirtual) {
  const TemporaryDirectory root;
  root.write("sys/class/dmi/id/sys_vendor", "Own Corp\n");
  root.write("sys/class/dmi/id/product_name", "Server 7 \n");
  root.write("sys/class/dmi/id/bios_version", "1.2.3\n");
  root.write(std::string(kCpu) + "smt/active", "1\n");
  root.write("proc/cpuinfo", "microcode\t: 0x2b\nflags\t\t: fpu hypervisor avx\n");
  const Json facts = hardware_file_facts(root.path());
  EXPECT_EQ(facts["product"], "Own Corp Server 7");
  EXPECT_EQ(facts["bios"], "1.2.3");
  EXPECT_EQ(facts["smt"], true);
  EXPECT_EQ(facts["microcode"], "0x2b");
  EXPECT_EQ(facts["virtual_machine"], true);
  root.write("sys/class/dmi/id/product_name", "Own Corp Server 8\n");
  root.write("proc/cpuinfo", "flags\t\t: fpu hypervisor_like\n");
  EXPECT_EQ(hardware_file_facts(root.path())["product"], "Own Corp Server 8");
  EXPECT_EQ(hardware_file_facts(root.path())["virtual_machine"], false);
}

}  // namespace
}  // namespace base
