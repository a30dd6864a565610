# Third-party packages, all from the distribution, each as an imported target. Headers of imported
# targets are SYSTEM: their warnings are not ours. Which folder may link which is the fence of
# docs/ARCHITECTURE.md (checked by tools/check_includes).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# media, codec
pkg_check_modules(AVFORMAT REQUIRED IMPORTED_TARGET libavformat libavcodec libavutil)
pkg_check_modules(AVFILTER REQUIRED IMPORTED_TARGET libavfilter libswscale libswresample)
# scheduler/topology_hwloc.cc
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
# scheduler/topology_xml.cc
find_package(EXPAT REQUIRED)
# server/http
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent_core libevent_extra libevent_pthreads)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
# server/rtsp: without it --rtsp-port says that RTSP is not built
pkg_check_modules(GSTREAMER IMPORTED_TARGET gstreamer-1.0 gstreamer-app-1.0 gstreamer-net-1.0
                  gstreamer-rtp-1.0 gstreamer-rtsp-1.0 gstreamer-rtsp-server-1.0 gstreamer-sdp-1.0 gio-2.0)
find_package(Boost 1.74 REQUIRED)
find_package(ZLIB REQUIRED)
